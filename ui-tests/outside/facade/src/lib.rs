//! A crate of a workspace that re-exports kproc to the others, and has a processor for each of them to make.

pub use kproc;

/// Makes a processor that counts by key what is in a topic.
#[macro_export]
macro_rules! counter {
    ($name:ident from $topic:literal of $value:ty) => {
        #[$crate::kproc::processor(crate = $crate::kproc)]
        #[derive(Default)]
        struct $name {
            #[$crate::kproc::state]
            counts: $crate::kproc::Table<String, u64>,
        }

        #[$crate::kproc::processor(crate = $crate::kproc)]
        impl $name {
            const INPUT: $crate::kproc::Topic<String, $value> = $crate::kproc::Topic::new($topic);

            #[$crate::kproc::on_message(Self::INPUT)]
            fn count(&mut self, key: &str, _value: $value) -> $crate::kproc::Result<()> {
                *self.counts.entry(key)?.or_default() += 1;
                Ok(())
            }

            #[$crate::kproc::prelude::every("1m")]
            fn publish(&mut self) {}
        }
    };
}
