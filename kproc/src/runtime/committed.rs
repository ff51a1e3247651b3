//! What is kept with a committed offset: stream time (the engine's), which topic the offset is of, and which stores the
//! task had.
//!
//! The stores are kept so that a changelog that was deleted can be told from that of a store that is new, even where no
//! local state is left. Brokers take 4096 bytes by default; a store takes four. (That it fits is checked with the topology.)

use super::origin::Origin;
use crate::{engine::stream_time, mark::Mark, topology::Topology};

/// Comes before the topic's.
const TOPIC: &str = " topic:";

/// Comes before the stores' marks.
const STORES: &str = " stores:";

/// The marks of a group's stores that have changelogs.
pub(super) fn marks(topology: &Topology, group: usize) -> String {
    let mut marks = String::new();
    let processors = &topology.groups[group].processors;
    let stores = topology
        .logged_stores()
        .filter(|(processor, _)| processors.contains(processor));
    for (processor, store) in stores {
        marks.push_str(&Mark::of(&topology.changelog(processor, store)).to_string());
    }
    marks
}

/// The text to commit.
pub(super) fn encode(stream_time: &str, origin: Option<Origin>, marks: &str) -> String {
    let origin = origin.map_or_else(String::new, |origin| format!("{TOPIC}{origin}"));
    format!("{stream_time}{origin}{STORES}{marks}")
}

/// The engine's part of what was committed.
pub(super) fn stream_time(metadata: &str) -> &str {
    parts(metadata).0
}

/// Whether something is owed since the last advance of stream time.
pub(super) fn owes(metadata: &str) -> bool {
    stream_time::decode(stream_time(metadata)).is_some_and(|time| !time.owed.is_empty())
}

/// Whether a newer version of kproc has written it: it begins as all do that have a stream time, and not all of it is
/// understood.
pub(super) fn is_newer(metadata: &str) -> bool {
    let (time, origin, stores) = parts(metadata);
    let understood = stream_time::is_understood(time)
        && origin.is_none_or(|origin| Origin::parse(origin).is_some())
        && stores.is_none_or(|stores| Mark::all_in(stores).is_some());
    stream_time::is_ours(metadata) && !understood
}

/// The engine's part, the topic's, and the stores', as far as they are there.
fn parts(metadata: &str) -> (&str, Option<&str>, Option<&str>) {
    fn cut<'t>(text: &'t str, at: &str) -> (&'t str, Option<&'t str>) {
        text.split_once(at)
            .map_or((text, None), |(front, rest)| (front, Some(rest)))
    }
    let (front, stores) = cut(metadata, STORES);
    let (time, origin) = cut(front, TOPIC);
    (time, origin, stores)
}

/// Which topic the offset is of; `None`: that is not told.
pub(super) fn origin(metadata: &str) -> Option<Origin> {
    let (_, origin, stores) = parts(metadata);
    Origin::parse(stores.and(origin)?)
}

/// The stores that there were; none, if that is not told.
pub(super) fn stores(metadata: &str) -> Vec<Mark> {
    parts(metadata).2.and_then(Mark::all_in).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::stream_time as engine, record::Timestamp};

    #[test]
    fn what_was_encoded_is_read() {
        let marks = ["a", "b"].map(Mark::of);
        let origin_of = Origin::parse("AbC_.12");
        let text = encode("v1 5", origin_of, &format!("{}{}", marks[0], marks[1]));
        assert_eq!((stream_time(&text), origin(&text)), ("v1 5", origin_of));
        assert_eq!(stores(&text), marks);
        assert_eq!((stream_time("v1"), stores("v1")), ("v1", vec![]));
        assert_eq!(stream_time(&encode("", None, "")), "");
        assert_eq!(stores("v1 5 stores:x"), []);
    }

    #[test]
    fn what_a_newer_version_has_written_is_told_from_what_others_have() {
        let owed = engine::encode(Some(Timestamp::EPOCH), &[Mark::of("a")]);
        for time in ["", "v1", "v1 5", &owed] {
            for text in [encode(time, Origin::parse("AbC_.12"), "abcd"), time.into()] {
                assert!(!is_newer(&text), "{text}");
            }
        }
        for theirs in ["AgAAAY0cPQo=", "{\"v\":1}", "v", "version 2", "x topic:?"] {
            assert!(!is_newer(theirs), "{theirs}");
        }
        for newer in [
            "v2",
            "v2 topic:AbC_.12 stores:abcd",
            "v10 5 stores:",
            "v1 5 more:x topic:AbC_.12 stores:abcd",
            "v1 5 topic:AbC_.12.more stores:abcd",
            "v1 5 topic:AbC_.12 stores:abcd more:x",
            "v1 5 owed:* stores:",
        ] {
            assert!(is_newer(newer), "{newer}");
        }
    }

    /// With the most of all that the topology takes.
    #[test]
    fn the_longest_text_is_one_that_brokers_take() {
        let owed = vec![Mark::of(""); 400];
        let time = engine::encode(Some(Timestamp::from_millis(i64::MIN)), &owed);
        let stores = Mark::of("").to_string().repeat(500);
        let text = encode(&time, Origin::parse("AbC_.4294967295"), &stores);
        assert!(text.len() <= 4096, "{} bytes", text.len());
    }
}
