//! Short marks of long names, for places where there is little room.

use std::fmt;

/// 24 bits of a name's hash: four characters that are allowed wherever names are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark([u8; 4]);

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Mark {
    /// The mark of a name. The same in every build: it is compared with what others have written. (FNV-1a.)
    pub(crate) fn of(name: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        // The upper bits have seen the most.
        Self(std::array::from_fn(|place| {
            DIGITS[(hash >> (40 + 6 * place)) as usize % 64]
        }))
    }

    /// The marks that a text consists of, if it does.
    pub(crate) fn all_in(text: &str) -> Option<Vec<Self>> {
        let (marks, rest) = text.as_bytes().as_chunks::<4>();
        let sound = rest.is_empty() && text.bytes().all(|byte| DIGITS.contains(&byte));
        sound.then(|| marks.iter().copied().map(Self).collect())
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let marks: Vec<Mark> = ["", "a", "b", "counts"].map(Mark::of).to_vec();
        let text: String = marks.iter().map(Mark::to_string).collect();
        assert_eq!(Mark::all_in(&text), Some(marks));
        assert_eq!(Mark::all_in(""), Some(vec![]));
        for foreign in ["abc", "abcde", "ab d", "ab\u{e4}"] {
            assert_eq!(Mark::all_in(foreign), None, "{foreign}");
        }
    }

    /// Old versions of a program have written them.
    #[test]
    fn marks_never_change() {
        assert_eq!(Mark::of("app-count-totals-changelog").to_string(), "bR8W");
    }

    #[test]
    fn d12_marks_of_names_that_are_alike_differ() {
        let mut marks: Vec<Mark> = (0..1000)
            .map(|number| Mark::of(&format!("store{number}")))
            .collect();
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), 1000);
    }
}
