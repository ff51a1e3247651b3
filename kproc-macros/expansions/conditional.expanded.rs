#[cfg(feature = "totals")]
struct Totals {
    #[cfg(feature = "extra")]
    extra: Table<String, i64>,
}
#[cfg(feature = "totals")]
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl __kproc::processor::State for Totals {
        fn stores(&mut self, __to: &mut dyn __kproc::Declare) {
            #[cfg(feature = "extra")]
            {
                let __store = &mut self.extra;
                __to.store(
                    "extra",
                    __kproc::StoreOptions {
                        changelog: true,
                    },
                    __store,
                );
            }
        }
    }
};
#[cfg(feature = "totals")]
impl Totals {
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::unused_self
    )]
    fn add(&mut self, n: i64) {}
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn line(&mut self, line: &str) {}
}
#[cfg(feature = "totals")]
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
            #[cfg(feature = "extra")]
            __to.input(
                1usize,
                __kproc::TypedTopic::typed(&LINES),
                __kproc::Start::Earliest,
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
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&WORDS),
                        __record,
                    )?;
                    {
                        let __result = <Totals>::add(self, __value);
                        __kproc::Outcome::outcome(__result)
                    }
                }
                #[cfg(feature = "extra")]
                1usize => {
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&LINES),
                        __record,
                    )?;
                    {
                        let __result = <Totals>::line(self, __value);
                        __kproc::Outcome::outcome(__result)
                    }
                }
                __input => __kproc::undeclared("input", __input),
            }
        }
    }
};
