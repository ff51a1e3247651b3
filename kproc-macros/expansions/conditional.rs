#[processor]
#[cfg(feature = "totals")]
struct Totals {
    #[cfg(feature = "extra")]
    #[state]
    extra: Table<String, i64>,
}

#[processor]
#[cfg(feature = "totals")]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, n: i64) {}

    #[cfg_attr(feature = "extra", on_message(LINES))]
    fn line(&mut self, line: &str) {}
}
