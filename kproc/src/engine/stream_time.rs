//! Stream time as it is kept with committed offsets: `v1 <milliseconds>`, or `v1` if there is none.
//!
//! If not all has happened yet that follows from its last advance, ` owed:` and the marks of what is left, in order.

use crate::{mark::Mark, record::Timestamp};

const VERSION: &str = "v1";
const OWED: &str = " owed:";

/// What was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamTime {
    pub(crate) now: Timestamp,
    /// What should have followed from its last advance, and has not.
    pub(crate) owed: Vec<Mark>,
}

/// The text to commit.
pub(crate) fn encode(now: Option<Timestamp>, owed: &[Mark]) -> String {
    use std::fmt::Write;
    let mut text = VERSION.to_owned();
    if let Some(now) = now {
        // Writing to a string does not fail.
        let _ = write!(text, " {}", now.as_millis());
        if !owed.is_empty() {
            text.push_str(OWED);
            text.extend(owed.iter().map(Mark::to_string));
        }
    }
    text
}

/// What was committed; `None` if it is no stream time, or is of another version.
pub(crate) fn decode(text: &str) -> Option<StreamTime> {
    let text = text.strip_prefix(VERSION)?.strip_prefix(' ')?;
    let (millis, owed) = match text.split_once(OWED) {
        Some((millis, marks)) => (millis, Mark::all_in(marks)?),
        None => (text, Vec::new()),
    };
    let now = Timestamp::from_millis(millis.parse().ok()?);
    Some(StreamTime { now, owed })
}

/// Whether it is what [`encode`] makes, or nothing.
pub(crate) fn is_understood(text: &str) -> bool {
    text.is_empty() || text == VERSION || decode(text).is_some()
}

/// Whether some version of kproc has written it.
pub(crate) fn is_ours(text: &str) -> bool {
    let digit = text.strip_prefix('v').and_then(|rest| rest.bytes().next());
    digit.is_some_and(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_read() {
        let owed = ["a", "b", "c"].map(Mark::of);
        for time in [0, 1_357_034_400_000, i64::MAX] {
            let now = Timestamp::from_millis(time);
            for owed in [&[], &owed[..1], &owed] {
                let read = decode(&encode(Some(now), owed));
                let owed = owed.to_vec();
                assert_eq!(read, Some(StreamTime { now, owed }));
            }
        }
        assert_eq!(decode(&encode(None, &[])), None);
        // Versions of kproc that have committed it are still out there.
        assert_eq!(encode(Some(Timestamp::from_millis(5)), &[]), "v1 5");
    }

    #[test]
    fn foreign_texts_are_no_stream_time() {
        for text in [
            "",
            "v",
            "v2 100",
            "v1  5",
            "v1 5 6",
            "v1x",
            "100",
            "{\"t\":1}",
            "v1 99999999999999999999",
            "v1 owed:abcd",
            "v1 5 owed:abc",
        ] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
