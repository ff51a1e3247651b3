struct Keep<V: Codec> {
    last: Table<String, V>,
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use ::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl<V: Codec> __kproc::processor::State for Keep<V>
    where
        Table<String, V>: __kproc::processor::Store,
    {
        fn stores(&mut self, __to: &mut dyn __kproc::Declare) {
            {
                let __store = &mut self.last;
                __to.store(
                    "last",
                    __kproc::StoreOptions {
                        changelog: true,
                    },
                    __store,
                );
            }
        }
    }
};
impl<V: Codec> Keep<V> {
    #[allow(
        clippy::missing_const_for_fn,
        clippy::needless_pass_by_ref_mut,
        clippy::same_name_method,
        clippy::single_call_fn,
        clippy::large_types_passed_by_value,
        clippy::needless_pass_by_value,
        clippy::unused_self
    )]
    fn keep(&mut self, value: V::Item<'_>) {}
}
#[allow(clippy::future_not_send, clippy::missing_trait_methods)]
const _: () = {
    use facade::kproc::__private as __kproc;
    #[automatically_derived]
    #[doc(hidden)]
    impl<V: Codec> __kproc::processor::Processor for Keep<V>
    where
        Keep<V>: 'static,
    {
        fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
            <Keep<V> as __kproc::State>::name()
        }
        fn declare(&mut self, __to: &mut dyn __kproc::Declare) {
            __to.input(
                0usize,
                __kproc::TypedTopic::typed(&Self::INPUT),
                __kproc::Start::Earliest,
            );
            <Keep<V> as __kproc::State>::stores(self, __to);
        }
        async fn process(
            &mut self,
            __ctx: &mut __kproc::Context<'_>,
            __record: &__kproc::Record<'_>,
        ) -> __kproc::Result<()> {
            match __record.input {
                0usize => {
                    let __value = __kproc::Argument::value(
                        __kproc::TypedTopic::typed(&Self::INPUT),
                        __record,
                    )?;
                    {
                        let __result = <Keep<V>>::keep(self, __value);
                        __kproc::Outcome::outcome(__result)
                    }
                }
                __input => __kproc::undeclared("input", __input),
            }
        }
    }
};
