#[derive(Default)]
struct Totals {
    totals: Table<String, i64>,
    seen: u64,
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    use __kproc::Neither as _;
    const _: () = __kproc::core::assert!(
        ! __kproc::Probe:: < u64 > ::IS_STORE,
        "field `seen` is a store without `#[state]`: it would never open. Write `#[state]` above it"
    );
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::State for Totals {
        fn stores(&mut self, __to: &mut dyn __kproc::Declare) {
            {
                let __store = &mut self.totals;
                __to.store(
                    "totals",
                    __kproc::StoreOptions {
                        changelog: true,
                    },
                    __store,
                );
            }
        }
    }
};
impl Totals {
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref
    )]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        self.seen += 1;
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::trivially_copy_pass_by_ref,
        clippy::future_not_send
    )]
    async fn publish(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.send_all(ctx).await
    }
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::Processor for Totals {
        fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
            <Totals as __kproc::State>::name()
        }
        fn declare(&mut self, __to: &mut dyn __kproc::Declare) {
            __to.input(
                0usize,
                __kproc::TypedTopic::typed(&WORDS),
                __kproc::Start::Earliest,
            );
            __kproc::Declare::add_timer(
                __to,
                __kproc::TimerSpec {
                    number: 0usize,
                    name: __kproc::Option::Some("publish"),
                    period: __kproc::Duration::from_millis(1000u64),
                    clock: __kproc::TimerClock::Wall,
                },
            );
            <Totals as __kproc::State>::stores(self, __to);
        }
        async fn process(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
            __record: &__kproc::Record<'_>,
        ) -> __kproc::Result<()> {
            match __record.input {
                0usize => {
                    let __first = __kproc::First::first(
                        __kproc::TypedTopic::typed(&WORDS),
                        __ctx,
                        __record,
                    )?;
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&WORDS),
                        __record,
                    )?;
                    {
                        let __result = <Totals>::add(self, __first, __value);
                        __kproc::Outcome::outcome(__result)
                    }
                }
                __input => __kproc::undeclared("input", __input),
            }
        }
        async fn punctuate(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
            __timer: __kproc::Timer,
            __now: __kproc::Timestamp,
        ) -> __kproc::Result<()> {
            match __timer {
                __kproc::Timer::Every(0usize) => {
                    let __first = __kproc::FirstOfEvery::first(__ctx, __now);
                    {
                        let __result = <Totals>::publish(self, __first).await;
                        __kproc::Outcome::outcome(__result)
                    }
                }
                _ => __kproc::undeclared("timer", __timer),
            }
        }
    }
};
