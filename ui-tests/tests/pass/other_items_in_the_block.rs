//! What is no handler stays as it is.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
#[processor]
#[derive(Default)]
struct Totals {}

/// A block.
#[processor]
#[allow(dead_code, clippy::mixed_attributes_style)]
impl Totals {
    #![allow(clippy::unused_self)]

    /// A constant.
    pub(crate) const LIMIT: usize = { 3 };

    /// A handler.
    #[inline]
    #[on_message(WORDS)]
    #[must_use = "by nobody"]
    pub(crate) fn add(&mut self, #[allow(unused)] n: i64) -> Result<()> {
        Self::helper::<u8>(&[]);
        if n < 0 {
            return Err("negative".into());
        }
        Ok(())
    }

    fn helper<T>(_: &[T]) {}

    const fn constant(&self) -> usize {
        Self::LIMIT
    }

    async fn waits(&self) {
        std::future::ready(()).await;
    }
}

#[test]
fn builds() {
    let mut totals = Totals::default();
    let _ = totals.add(1);
    assert_eq!(totals.constant(), 3);
    drop(totals.waits());
}
