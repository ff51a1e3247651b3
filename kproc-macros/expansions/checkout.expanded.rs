pub struct Checkout {
    pending: Table<String, Order<'static>>,
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::State for Checkout {
        fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
            __kproc::Cow::Borrowed("checkout-v2")
        }
        fn stores(&mut self, __to: &mut dyn __kproc::Declare) {
            {
                let __store = &mut self.pending;
                __to.store(
                    "open",
                    __kproc::StoreOptions {
                        changelog: false,
                    },
                    __store,
                );
            }
        }
    }
};
impl Checkout {
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref
    )]
    fn ordered(&mut self, id: &str, order: Option<Order<'_>>) -> Result<()> {
        match order {
            Some(order) => self.pending.put(id, &order)?,
            None => self.pending.delete(id)?,
        }
        Ok(())
    }
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::future_not_send,
        clippy::unused_async,
        clippy::unused_self
    )]
    async fn paid(&mut self, ctx: &mut Context<'_>, id: &str, cents: u64) -> Result<()> {
        ctx.send(&SHIPMENTS, id, &cents)?;
        Ok(())
    }
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::Processor for Checkout {
        fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
            <Checkout as __kproc::State>::name()
        }
        fn declare(&mut self, __to: &mut dyn __kproc::Declare) {
            __to.input(
                0usize,
                __kproc::TypedTopic::typed(&ORDERS),
                __kproc::Start::Earliest,
            );
            __to.input(
                1usize,
                __kproc::TypedTopic::typed(&PAYMENTS),
                __kproc::Start::Latest,
            );
            __to.output(__kproc::TypedTopic::typed(&SHIPMENTS));
            <Checkout as __kproc::State>::stores(self, __to);
        }
        async fn process(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
            __record: &__kproc::Record<'_>,
        ) -> __kproc::Result<()> {
            match __record.input {
                0usize => {
                    let __first = __kproc::First::first(
                        __kproc::TypedTopic::typed(&ORDERS),
                        __ctx,
                        __record,
                    )?;
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&ORDERS),
                        __record,
                    )?;
                    {
                        let __result = <Checkout>::ordered(self, __first, __value);
                        __kproc::Outcome::outcome(__result)
                    }
                }
                1usize => {
                    let __context = __kproc::ContextArgument::context(__ctx);
                    let __key = __kproc::Argument::key(
                        __kproc::TypedTopic::typed(&PAYMENTS),
                        __record,
                    )?;
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&PAYMENTS),
                        __record,
                    )?;
                    {
                        let __result = <Checkout>::paid(self, __context, __key, __value)
                            .await;
                        __kproc::Outcome::outcome(__result)
                    }
                }
                __input => __kproc::undeclared("input", __input),
            }
        }
    }
};
