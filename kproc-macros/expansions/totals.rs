#[derive(Default)]
struct Totals {
    totals: Table<String, i64>,
    seen: u64,
}
const _: () = {
    use ::kproc::__private::NoStore as _;
    const _: () = ::kproc::__private::core::assert!(
        ! ::kproc::__private::Probe:: < u64 > ::IS_STORE,
        "field `seen` is a store without `#[state]`: it would never open. Write `#[state]` above it"
    );
    #[automatically_derived]
    impl ::kproc::__private::State for Totals {
        fn stores(&mut self, __to: &mut dyn ::kproc::__private::Declare) {
            {
                let __store = &mut self.totals;
                __to.store(
                    "totals",
                    ::kproc::__private::StoreOptions {
                        changelog: true,
                    },
                    ::kproc::__private::store(__store),
                );
            }
        }
    }
};
impl Totals {
    #[allow(clippy::needless_pass_by_value, clippy::unused_self, clippy::unused_async)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_self, clippy::unused_async)]
    async fn publish(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.send_all(ctx).await
    }
}
const _: () = {
    #[automatically_derived]
    impl ::kproc::__private::Processor for Totals {
        fn name() -> ::kproc::__private::Cow<
            'static,
            ::kproc::__private::core::primitive::str,
        > {
            <Totals as ::kproc::__private::State>::name()
        }
        fn declare(&mut self, __to: &mut dyn ::kproc::__private::Declare) {
            __to.input(
                0usize,
                ::kproc::__private::topic(&WORDS),
                ::kproc::__private::Start::Earliest,
            );
            __to.every(
                0usize,
                ::kproc::__private::Duration::from_millis(1000u64),
                ::kproc::__private::TimerClock::Wall,
            );
            <Totals as ::kproc::__private::State>::stores(self, __to);
        }
        async fn process(
            &mut self,
            __ctx: &mut ::kproc::__private::Context<'_>,
            __record: &::kproc::__private::Record<'_>,
        ) -> ::kproc::__private::Result<()> {
            match __record.input {
                0usize => {
                    let __first = ::kproc::__private::first(
                        ::kproc::__private::topic(&WORDS),
                        __ctx,
                        __record,
                    )?;
                    let __value = ::kproc::__private::value(
                        ::kproc::__private::topic(&WORDS),
                        __record,
                    )?;
                    {
                        let __result = <Totals>::add(self, __first, __value);
                        ::kproc::__private::outcome(__result)
                    }
                }
                __input => ::kproc::__private::undeclared("input", __input),
            }
        }
        async fn punctuate(
            &mut self,
            __ctx: &mut ::kproc::__private::Context<'_>,
            __timer: ::kproc::__private::Timer,
            __now: ::kproc::__private::Timestamp,
        ) -> ::kproc::__private::Result<()> {
            match __timer {
                ::kproc::__private::Timer::Every(0usize) => {
                    let __first = ::kproc::__private::timer_first(
                        __ctx,
                        ::kproc::__private::Periodic,
                        __now,
                    );
                    {
                        let __result = <Totals>::publish(self, __first).await;
                        ::kproc::__private::outcome(__result)
                    }
                }
                _ => ::kproc::__private::undeclared("timer", __timer),
            }
        }
    }
};
