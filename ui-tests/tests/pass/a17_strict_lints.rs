//! No warning comes from generated code.

//! Clippy checks it, too.
#![deny(
    warnings,
    missing_docs,
    unused,
    nonstandard_style,
    rust_2018_idioms,
    unused_qualifications,
    let_underscore,
    single_use_lifetimes,
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    missing_debug_implementations,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unused_results,
    variant_size_differences
)]
#![forbid(unsafe_code)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

/// A processor.
#[processor]
#[derive(Default)]
#[allow(missing_debug_implementations)]
pub(crate) struct Totals {
    #[state(changelog = false)]
    totals: Table<String, i64>,
    /// Plain.
    pub(crate) plain: u64,
}

#[processor(sends(WORDS))]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let _ = (&self.totals, self.plain);
        Ok(ctx.send(&WORDS, word, &n)?)
    }

    #[every("1s")]
    async fn publish(&mut self) {}

    #[on_start]
    fn begin(&mut self) {}

    #[on_stop]
    async fn end(&mut self) -> Result<()> {
        Ok(())
    }

    #[on_schedule]
    fn alarm(&mut self, _timer: TimerId) {}
}

#[test]
fn builds() {
    drop(App::new("app").processor::<Totals>());
}
