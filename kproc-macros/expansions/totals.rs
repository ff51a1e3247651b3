#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
    seen: u64,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        self.seen += 1;
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }

    #[every("1s")]
    async fn publish(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.send_all(ctx).await
    }
}
