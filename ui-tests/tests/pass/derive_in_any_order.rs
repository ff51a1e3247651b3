//! `#[derive]` before, after, and with its own helper attributes.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[derive(Default)]
#[processor]
struct Before {
    #[kproc::state]
    totals: Table<String, i64>,
}

#[kproc::processor]
#[doc = "After."]
#[derive(Default, serde::Serialize)]
struct After {
    #[serde(rename = "other")]
    plain: u64,
}

#[processor]
impl Before {
    /// Attributes on both sides.
    #[inline]
    #[kproc::on_message(WORDS)]
    #[must_use = "not really"]
    fn add(&mut self, _n: i64) -> Result<()> {
        self.totals.contains("a")?;
        Ok(())
    }

    /// A method like any other.
    fn helper(&self) {
        let _ = &self.totals;
    }

    const LIMIT: usize = 3;
}

#[processor]
impl After {
    #[on_message(WORDS)]
    fn add(&self, _n: i64) {
        let _ = self.plain;
    }
}

#[test]
fn builds() {
    Before::default().helper();
    let _ = App::new("app").processor::<Before>().processor::<After>();
    let _ = Before::LIMIT;
}
