//! What must come out, made of what came in, and what is wrong with what does.

use std::collections::BTreeMap;

use kproc::Offset;

use crate::count::{Counted, Tally};

/// A number that came in, with what its key has come to.
#[derive(Debug, Clone, Copy)]
struct Entry {
    counted: Counted,
    /// Whether it has come out.
    seen: bool,
}

/// One key.
#[derive(Debug, Default, Clone)]
struct Key {
    entries: Vec<Entry>,
    /// How many have come out, if all come in order.
    out: usize,
    /// How many the last value of the changelog counts.
    logged: u64,
}

/// Everything that came in.
#[derive(Debug)]
pub(crate) struct Model {
    exactly_once: bool,
    keys: BTreeMap<String, Key>,
    pub(crate) inputs: u64,
    pub(crate) outputs: u64,
    /// Outputs that came once more.
    pub(crate) duplicated: u64,
    /// What must not be.
    pub(crate) violations: Violations,
}

/// Violations, the first few in words.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    pub(crate) number: u64,
    pub(crate) first: Vec<String>,
}

impl Violations {
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        const IN_WORDS: usize = 20;
        self.number += 1;
        if self.first.len() < IN_WORDS {
            let what = what();
            // At once, too: a run that is broken off has told it.
            eprintln!("kproc-chaos: VIOLATION: {what}");
            self.first.push(what);
        }
    }
}

impl Model {
    pub(crate) fn new(exactly_once: bool) -> Self {
        Self {
            exactly_once,
            keys: BTreeMap::new(),
            inputs: 0,
            outputs: 0,
            duplicated: 0,
            violations: Violations::default(),
        }
    }

    /// A number came in.
    pub(crate) fn input(&mut self, key: &str, number: u64) {
        let key = self.keys.entry(key.to_owned()).or_default();
        let before = key
            .entries
            .last()
            .map_or(Tally::default(), |entry| entry.counted.tally);
        let tally = before.with(number);
        let counted = Counted { number, tally };
        key.entries.push(Entry { counted, seen: false });
        self.inputs += 1;
    }

    /// Whether this number of a key has come in.
    pub(crate) fn knows(&self, name: &str, counted: Counted) -> bool {
        let numbers = self.keys.get(name).map_or(&[][..], |key| &key.entries);
        numbers
            .binary_search_by_key(&counted.number, |entry| entry.counted.number)
            .is_ok()
    }

    /// Whether as many numbers of a key have come in as this counts. (At least once, some are counted twice.)
    pub(crate) fn has_come_to(&self, name: &str, tally: Tally) -> bool {
        let numbers = self.keys.get(name).map_or(0, |key| key.entries.len());
        !self.exactly_once || tally.count <= numbers as u64
    }

    /// Something came out; its number has come in before.
    pub(crate) fn output(&mut self, name: &str, counted: Counted, at: Offset) {
        self.outputs += 1;
        let Some(key) = self.keys.get_mut(name) else {
            self.violations
                .add(|| format!("out came {name}, which never came in: {counted:?}, at {at}"));
            return;
        };
        // A key's numbers rise.
        let found = key
            .entries
            .binary_search_by_key(&counted.number, |entry| entry.counted.number);
        let Ok(place) = found else {
            self.violations
                .add(|| format!("out came a number of {name} that never came in: {counted:?}, at {at}"));
            return;
        };
        if std::mem::replace(&mut key.entries[place].seen, true) {
            self.duplicated += 1;
        }
        if !self.exactly_once {
            return;
        }
        let due = key.out;
        if place != due {
            let what = if place < due { "once more" } else { "too early" };
            self.violations.add(|| {
                format!(
                    "{name}: its number {place} came out {what}, number {due} was next: {counted:?}, at {at}"
                )
            });
        } else if counted != key.entries[place].counted {
            let wanted = key.entries[place].counted;
            self.violations
                .add(|| format!("{name}: out came {counted:?} instead of {wanted:?}, at {at}"));
        }
        key.out = due.max(place + 1);
    }

    /// The changelog has a value; what it counts has come in before.
    pub(crate) fn logged(&mut self, name: &str, tally: Tally, at: Offset) {
        let exactly_once = self.exactly_once;
        let key = self.keys.entry(name.to_owned()).or_default();
        let before = std::mem::replace(&mut key.logged, tally.count);
        if !exactly_once {
            return;
        }
        let wanted = tally
            .count
            .checked_sub(1)
            .and_then(|last| key.entries.get(last as usize));
        if wanted.is_none_or(|wanted| wanted.counted.tally != tally) {
            self.violations
                .add(|| format!("{name}: the changelog has {tally:?} instead of {wanted:?}, at {at}"));
        } else if tally.count <= before {
            self.violations
                .add(|| format!("{name}: the changelog goes from {before} back to {tally:?}, at {at}"));
        }
    }

    /// How many have not come out yet.
    pub(crate) fn missing(&self) -> u64 {
        let missing = |key: &Key| key.entries.iter().filter(|entry| !entry.seen).count() as u64;
        self.keys.values().map(missing).sum()
    }

    /// How many entries of the changelog are behind what came in.
    pub(crate) fn unlogged(&self) -> usize {
        let behind = |key: &&Key| key.logged < key.entries.len() as u64;
        self.keys.values().filter(behind).count()
    }

    /// Names of keys of which something has not come out.
    pub(crate) fn lost(&self) -> impl Iterator<Item = String> + '_ {
        self.keys.iter().flat_map(|(name, key)| {
            let missing = key.entries.iter().enumerate().filter(|(_, entry)| !entry.seen);
            missing.map(move |(place, entry)| {
                format!("{name}: its number {place} never came out: {:?}", entry.counted)
            })
        })
    }

    /// What a key has come to in the end.
    pub(crate) fn last(&self, name: &str) -> Option<Tally> {
        Some(self.keys.get(name)?.entries.last()?.counted.tally)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys
            .iter()
            .filter(|(_, key)| !key.entries.is_empty())
            .map(|(name, _)| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(exactly_once: bool) -> Model {
        let mut model = Model::new(exactly_once);
        for number in [3, 5, 9] {
            model.input("a", number);
        }
        model
    }

    /// The outputs that are right.
    fn right() -> [Counted; 3] {
        let mut tally = Tally::default();
        [3, 5, 9].map(|number| {
            tally = tally.with(number);
            Counted { number, tally }
        })
    }

    fn told(exactly_once: bool, outputs: &[Counted]) -> (u64, u64, u64) {
        let mut model = fed(exactly_once);
        for counted in outputs {
            model.output("a", *counted, Offset::ZERO);
        }
        (model.violations.number, model.duplicated, model.missing())
    }

    #[test]
    fn each_kind_of_mistake_is_found() {
        let [a, b, c] = right();
        assert_eq!(told(true, &[a, b, c]), (0, 0, 0));
        assert_eq!(told(true, &[a, b, b, c]), (1, 1, 0), "twice");
        assert_eq!(told(true, &[a, c]), (1, 0, 1), "one is left out");
        assert_eq!(told(true, &[b, a, c]), (2, 0, 0), "in another order");
        let wrong = Counted { tally: a.tally, ..b };
        assert_eq!(told(true, &[a, wrong, c]), (1, 0, 0), "from an older state");
        let unknown = Counted { number: 4, ..a };
        assert_eq!(told(true, &[a, unknown, b, c]), (1, 0, 0), "never came in");
        assert_eq!(told(false, &[a, b, a, b, c]), (0, 2, 0), "may be repeated");
        assert_eq!(told(false, &[a, c]), (0, 0, 1), "but not left out");
    }

    #[test]
    fn a_changelog_neither_lies_nor_goes_back() {
        let [a, b, c] = right();
        let mut model = fed(true);
        for tally in [a.tally, c.tally] {
            model.logged("a", tally, Offset::ZERO);
        }
        assert_eq!((model.violations.number, model.unlogged()), (0, 0));
        model.logged("a", b.tally, Offset::ZERO);
        assert_eq!((model.violations.number, model.unlogged()), (1, 1));
        model.logged("a", Tally { count: 3, chain: 0 }, Offset::ZERO);
        assert_eq!(model.violations.number, 2);
    }
}
