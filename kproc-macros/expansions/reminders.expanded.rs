#[derive(Default)]
struct Reminders {}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::State for Reminders {
        fn stores(&mut self, __to: &mut dyn __kproc::Declare) {}
    }
};
impl Reminders {
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn begin(&mut self, ctx: &mut Context<'_>) {}
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::unused_self
    )]
    fn ordered(&mut self, cents: i64) {}
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn minute(&mut self, ctx: &mut Context<'_>, now: Timestamp) {}
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn fired(&mut self, ctx: &mut Context<'_>, timer: TimerId, now: Timestamp) {}
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::future_not_send,
        clippy::unused_async,
        clippy::unused_self
    )]
    async fn end(&mut self) -> Result<()> {
        Ok(())
    }
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::Processor for Reminders {
        fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
            <Reminders as __kproc::State>::name()
        }
        fn declare(&mut self, __to: &mut dyn __kproc::Declare) {
            __to.input(
                0usize,
                __kproc::TypedTopic::typed(&ORDERS),
                __kproc::Start::Earliest,
            );
            __kproc::Declare::add_timer(
                __to,
                __kproc::TimerSpec {
                    number: 0usize,
                    name: __kproc::Option::Some("minute"),
                    period: __kproc::Duration::from_millis(60000u64),
                    clock: __kproc::TimerClock::Stream,
                },
            );
            __kproc::Declare::handles_scheduled(__to);
            <Reminders as __kproc::State>::stores(self, __to);
        }
        async fn start(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
        ) -> __kproc::Result<()> {
            let __context = __kproc::FrameArgument::context(__ctx);
            {
                let __result = <Reminders>::begin(self, __context);
                __kproc::Outcome::outcome(__result)
            }
        }
        async fn process(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
            __record: &__kproc::Record<'_>,
        ) -> __kproc::Result<()> {
            match __record.input {
                0usize => {
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&ORDERS),
                        __record,
                    )?;
                    {
                        let __result = <Reminders>::ordered(self, __value);
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
                    let __second = __kproc::EveryArgument::argument(__now);
                    {
                        let __result = <Reminders>::minute(self, __first, __second);
                        __kproc::Outcome::outcome(__result)
                    }
                }
                __kproc::Timer::Scheduled(__id) => {
                    let __first = __kproc::ContextOfScheduled::context(__ctx);
                    let __second = __kproc::ScheduledArgument::argument(__id, __now);
                    let __third = __kproc::ScheduledArgument::argument(__id, __now);
                    {
                        let __result = <Reminders>::fired(
                            self,
                            __first,
                            __second,
                            __third,
                        );
                        __kproc::Outcome::outcome(__result)
                    }
                }
                _ => __kproc::undeclared("timer", __timer),
            }
        }
        async fn stop(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
        ) -> __kproc::Result<()> {
            {
                let __result = <Reminders>::end(self).await;
                __kproc::Outcome::outcome(__result)
            }
        }
    }
};
