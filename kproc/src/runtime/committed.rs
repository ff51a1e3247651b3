//! What is kept with a committed offset: stream time (the engine's), which topic the offset is of, and which stores the
//! task had.
//!
//! The stores are kept so that a changelog that was deleted can be told from that of a store that is new, even where no
//! local state is left. Brokers take 4096 bytes by default; a store takes four.

use super::origin::Origin;
use crate::{mark::Mark, topology::Topology};

/// Comes before the topic's.
const TOPIC: &str = " topic:";

/// Comes before the stores' marks.
const STORES: &str = " stores:";

/// More stores than this are not kept: they would be most of what a broker takes.
const MOST: usize = 500;

/// The marks of a group's stores that have changelogs.
pub(super) fn marks(topology: &Topology, group: usize) -> String {
    let mut marks = String::new();
    let processors = &topology.groups[group].processors;
    let stores = topology
        .logged_stores()
        .filter(|(processor, _)| processors.contains(processor));
    for (processor, store) in stores.take(MOST) {
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
    let time = metadata.split_once(STORES).map_or(metadata, |(time, _)| time);
    time.split_once(TOPIC).map_or(time, |(time, _)| time)
}

/// Which topic the offset is of; `None`: that is not told.
pub(super) fn origin(metadata: &str) -> Option<Origin> {
    let (time, _) = metadata.split_once(STORES)?;
    Origin::parse(time.split_once(TOPIC)?.1)
}

/// The stores that there were; none, if that is not told.
pub(super) fn stores(metadata: &str) -> Vec<Mark> {
    let marks = metadata
        .split_once(STORES)
        .and_then(|(_, marks)| Mark::all_in(marks));
    marks.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
