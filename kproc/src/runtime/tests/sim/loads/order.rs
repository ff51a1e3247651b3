//! What is due in order, and how much of it was read.

use std::{collections::VecDeque, fmt::Debug};

use super::super::workload::{Mode, Verdict};

/// A sequence that must be read: exactly once and in order, or (at least once) all of it.
#[derive(Debug)]
pub(super) struct Order<T> {
    mode: Mode,
    due: Vec<T>,
    /// How many of them were read, and which.
    read: usize,
    marks: Vec<bool>,
    /// Read before it was known to be due.
    early: VecDeque<T>,
    /// Whether more may become due.
    grows: bool,
}

impl<T: PartialEq + Clone + Debug> Order<T> {
    /// All that is due is known.
    pub(super) fn of(mode: Mode, mut due: Vec<T>) -> Self {
        if mode == Mode::AtLeastOnce {
            // Two of the same may be one that was read again.
            let mut known = Vec::new();
            due.retain(|item| {
                let new = !known.contains(item);
                known.extend(new.then(|| item.clone()));
                new
            });
        }
        Self {
            mode,
            marks: vec![false; due.len()],
            due,
            read: 0,
            early: VecDeque::new(),
            grows: false,
        }
    }

    /// What is due becomes known bit by bit.
    pub(super) fn growing(mode: Mode) -> Self {
        Self {
            grows: true,
            ..Self::of(mode, Vec::new())
        }
    }

    /// This is due after all others, unless it is due already and may be read again.
    pub(super) fn add(&mut self, item: T) -> Verdict {
        if self.mode == Mode::AtLeastOnce && self.due.contains(&item) {
            return Ok(());
        }
        self.due.push(item);
        self.marks.push(false);
        let mut early = std::mem::take(&mut self.early).into_iter();
        early.try_for_each(|item| self.read(item))
    }

    /// What became due last.
    pub(super) fn last(&self) -> Option<&T> {
        self.due.last()
    }

    /// This was read.
    pub(super) fn read(&mut self, item: T) -> Verdict {
        let place = match self.mode {
            Mode::ExactlyOnce => Some(self.read).filter(|place| *place < self.due.len()),
            Mode::AtLeastOnce => self.due.iter().position(|due| *due == item),
        };
        match place {
            Some(place) if self.due[place] == item => {
                self.read += usize::from(!self.marks[place]);
                self.marks[place] = true;
                Ok(())
            }
            Some(place) => Err(format!(
                "number {place} is {item:?} and should be {:?}",
                self.due[place]
            )),
            None if self.grows => {
                self.early.push_back(item);
                Ok(())
            }
            None => Err(format!("{item:?} comes, and all {} were there", self.due.len())),
        }
    }

    /// Nothing comes any more.
    pub(super) fn end(&self) -> Verdict {
        if let Some(early) = self.early.front() {
            return Err(format!("{early:?} follows from nothing"));
        }
        match self.marks.iter().position(|read| !read) {
            Some(missing) => Err(format!(
                "{:?} is missing, number {missing} of {}",
                self.due[missing],
                self.due.len()
            )),
            None => Ok(()),
        }
    }
}

/// Says of what something is told.
pub(super) trait Of {
    /// `what`: "pairs of k1".
    fn of(self, what: impl FnOnce() -> String) -> Self;
}

impl Of for Verdict {
    fn of(self, what: impl FnOnce() -> String) -> Self {
        self.map_err(|problem| format!("{}: {problem}", what()))
    }
}

#[test]
fn an_order_is_kept_once_or_again() {
    let mut exact = Order::of(Mode::ExactlyOnce, vec![1, 2, 3]);
    assert_eq!(exact.read(1), Ok(()));
    assert!(exact.end().is_err() && exact.read(3).is_err() && exact.read(1).is_err());
    assert_eq!(exact.read(2).and(exact.read(3)).and(exact.end()), Ok(()));
    assert!(exact.read(3).is_err());

    let mut again = Order::of(Mode::AtLeastOnce, vec![1, 2, 3]);
    for item in [3, 2, 3] {
        assert_eq!(again.read(item), Ok(()));
    }
    assert!(again.read(4).is_err() && again.end().is_err());
    assert_eq!(again.read(1).and(again.end()), Ok(()));

    let mut growing = Order::growing(Mode::ExactlyOnce);
    assert_eq!(growing.read(1).and(growing.read(2)), Ok(()));
    assert!(growing.end().is_err());
    assert_eq!(growing.add(1).and(growing.add(2)).and(growing.end()), Ok(()));
    assert_eq!(growing.read(4), Ok(()));
    assert!(growing.add(3).is_err());
}
