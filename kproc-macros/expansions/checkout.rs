#[processor(name = "checkout-v2")]
pub struct Checkout {
    #[state(name = "open", changelog = false)]
    pending: Table<String, Order<'static>>,
}

#[processor(sends(SHIPMENTS))]
impl Checkout {
    #[on_message(ORDERS)]
    fn ordered(&mut self, id: &str, order: Option<Order<'_>>) -> Result<()> {
        match order {
            Some(order) => self.pending.put(id, &order)?,
            None => self.pending.delete(id)?,
        }
        Ok(())
    }

    #[on_message(PAYMENTS, start = latest)]
    async fn paid(&mut self, ctx: &mut Context<'_>, id: &str, cents: u64) -> Result<()> {
        ctx.send(&SHIPMENTS, id, &cents)?;
        Ok(())
    }
}
