//! Stream time as it is kept with committed offsets: `v1 <milliseconds>`, or `v1` if there is none.

use crate::record::Timestamp;

const VERSION: &str = "v1";

/// The text to commit.
pub(crate) fn encode(stream_time: Option<Timestamp>) -> String {
    match stream_time {
        Some(time) => format!("{VERSION} {}", time.as_millis()),
        None => VERSION.to_owned(),
    }
}

/// What was committed; `None` if it is no stream time, or is of another version.
pub(crate) fn decode(text: &str) -> Option<Timestamp> {
    let millis = text.strip_prefix(VERSION)?.strip_prefix(' ')?;
    millis.parse().ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_read() {
        for time in [None, Some(0), Some(1_357_034_400_000), Some(i64::MAX)] {
            let time = time.map(Timestamp::from_millis);
            assert_eq!(decode(&encode(time)), time);
        }
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
        ] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
