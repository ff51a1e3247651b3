#[processor]
#[derive(Default)]
struct Reminders {}

#[processor]
impl Reminders {
    #[on_start]
    fn begin(&mut self, ctx: &mut Context<'_>) {}

    #[on_message(ORDERS)]
    fn ordered(&mut self, cents: i64) {}

    #[every("1m", stream_time)]
    fn minute(&mut self, ctx: &mut Context<'_>, now: Timestamp) {}

    #[on_schedule]
    fn fired(&mut self, ctx: &mut Context<'_>, timer: TimerId, now: Timestamp) {}

    #[on_stop]
    async fn end(&mut self) -> Result<()> {
        Ok(())
    }
}
