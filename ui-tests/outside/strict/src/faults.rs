//! A processor with faults of its own: lints look at a user's code also where kproc's macros stand on it.

use kproc::{Context, Result, Table, processor};

use crate::COUNTS;

/// One fault for each group of lints.
#[processor]
#[derive(Default)]
pub struct Faulty {
    /// The last count.
    #[state]
    last: Table<String, u64>,
    /// Whether there is one.
    seen: bool,
}

#[processor]
impl Faulty {
    /// A handler.
    #[on_message(COUNTS)]
    fn add(&mut self, _ctx: &mut Context<'_>, name: &str, count: u64) -> Result<()> {
        let unused = 3;
        self.seen = if count == 0 { false } else { true };
        self.last.put(name, &(count as u64)).unwrap();
        Ok(())
    }

    fn undocumented(&self) -> bool {
        self.seen
    }
}
