//! Records as lines of text: JSON lines, and plain text.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Headers, Partition, Record, Timestamp,
    codec::{DecodeError, EncodeError, Text},
    topic::AnyTopic,
};

/// A record as a line of JSON. Written in full; of what is read, all but the value may be left out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    partition: Option<u32>,
    /// Read, so that a dump can be fed again, and not used: a cluster numbers its records itself.
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    timestamp: Option<Moment>,
    #[serde(default)]
    key: Option<Text>,
    #[serde(deserialize_with = "nullable")]
    value: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(Bytes, Option<Bytes>)>,
}

/// A field that must be there and may be null. (An `Option` alone may be left out, too.)
fn nullable<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Text>, D::Error> {
    Option::deserialize(from)
}

/// A timestamp: written as RFC 3339, read as that or as milliseconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a time such as \"2013-01-01T10:15:00Z\", or milliseconds since 1970"
)]
enum Moment {
    Millis(i64),
    Written(String),
}

impl Moment {
    fn of(timestamp: Timestamp) -> Self {
        let millis = timestamp.as_millis();
        let written = jiff::Timestamp::from_millisecond(millis).map(|moment| moment.to_string());
        written.map_or(Self::Millis(millis), Self::Written)
    }

    fn timestamp(&self) -> Result<Timestamp, String> {
        let millis = match self {
            Self::Millis(millis) => *millis,
            Self::Written(text) => text
                .parse::<jiff::Timestamp>()
                .map_err(|error| {
                    format!("timestamp {text:?} is not a time such as \"2013-01-01T10:15:00Z\": {error}")
                })?
                .as_millisecond(),
        };
        Ok(Timestamp::from_millis(millis))
    }
}

/// Bytes of a header: a text if they are UTF-8, else `{"hex": "ff00"}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text, or an object as in {\"hex\": \"ff00\"}"
)]
enum Bytes {
    Text(String),
    Other { hex: String },
}

impl Bytes {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Other { hex: hex(bytes) },
        }
    }

    fn into_bytes(self) -> Result<Vec<u8>, String> {
        let hex = match self {
            Self::Text(text) => return Ok(text.into_bytes()),
            Self::Other { hex } => hex,
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let pairs = hex.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = pairs
            .map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?))
            .collect();
        bytes.ok_or_else(|| "a header in hex has two digits for each byte".into())
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

/// A record that was read from a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FedRecord {
    pub(crate) partition: Option<Partition>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl FedRecord {
    /// Reads a line of JSON. The error says what is wrong in the line.
    pub(crate) fn from_json(line: &[u8], topic: &AnyTopic) -> Result<Self, String> {
        let line: Line = serde_json::from_slice(line).map_err(|error| json_problem(&error))?;
        let mut headers = Vec::with_capacity(line.headers.len());
        for (name, value) in line.headers {
            headers.push((name.into_bytes()?, value.map(Bytes::into_bytes).transpose()?));
        }
        Ok(Self {
            partition: line.partition.map(Partition::new),
            timestamp: line.timestamp.map(|moment| moment.timestamp()).transpose()?,
            key: line
                .key
                .map(|key| encode(topic.key.from_text, &key).map_err(|what| format!("key: {what}")))
                .transpose()?,
            value: line
                .value
                .map(|value| encode(topic.value.from_text, &value).map_err(|what| format!("value: {what}")))
                .transpose()?,
            headers,
        })
    }

    /// Reads a line of plain text: the value. What is not text by its codec is taken as JSON (`5`,
    /// `{"a": 1}`), and else as the codec's text form without quotes.
    pub(crate) fn from_text(line: &[u8], topic: &AnyTopic) -> Result<Self, String> {
        let value = parse_plain(line, &(topic.value.name)(), topic.value.from_text)?;
        Ok(Self {
            value: Some(value),
            ..Self::default()
        })
    }
}

/// Encodes a text form; appends the bytes.
type FromText = fn(&Text, &mut Vec<u8>) -> Result<(), EncodeError>;

/// Encodes a value or key given as plain text; `name` is that of its codec.
pub(crate) fn parse_plain(text: &[u8], name: &str, from_text: FromText) -> Result<Vec<u8>, String> {
    if name == "bytes" {
        return Ok(text.to_vec());
    }
    let text = std::str::from_utf8(text).map_err(|error| format!("this is not UTF-8: {error}"))?;
    let plain = || encode(from_text, &Text::String(text.to_owned()));
    if name == "string" {
        return plain();
    }
    match serde_json::from_str(text) {
        Ok(json) => encode(from_text, &json).or_else(|problem| plain().map_err(|_| problem)),
        Err(error) => {
            plain().map_err(|_| format!("this is not the JSON of a {name}: {}", json_problem(&error)))
        }
    }
}

/// What a key given on a command line may be, encoded: the JSON form of a key, and a key in plain text. Both, if it
/// can be read as both: `"plum"` is the JSON of a text, and a text that has quotes.
pub(crate) fn parse_key(text: &str, name: &str, from_text: FromText) -> Result<Vec<Vec<u8>>, String> {
    let json = serde_json::from_str(text).ok();
    let json = json.and_then(|json| encode(from_text, &json).ok());
    let plain = parse_plain(text.as_bytes(), name, from_text);
    match (json, plain) {
        (Some(json), Ok(plain)) if json != plain => Ok(vec![json, plain]),
        (Some(json), _) => Ok(vec![json]),
        (None, plain) => Ok(vec![plain?]),
    }
}

fn encode(from_text: FromText, text: &Text) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    from_text(text, &mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// serde's message; every line is line 1 to it, so only the column tells something.
fn json_problem(error: &serde_json::Error) -> String {
    let (column, text) = (error.column(), error.to_string());
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what} (column {column})"),
        None => text,
    }
}

/// The text form of encoded bytes.
pub(crate) type ToText = fn(&[u8]) -> Result<Text, DecodeError>;

/// Writes a record as a line of JSON, with its end.
pub(crate) fn write_json(
    record: &Record<'_>,
    (key, value): (ToText, ToText),
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let decode = |to_text: ToText, bytes: Option<&[u8]>, what| {
        bytes
            .map(to_text)
            .transpose()
            .map_err(|error| format!("{what}: {error}"))
    };
    let line = Line {
        partition: Some(record.partition.get()),
        offset: Some(record.offset.get()),
        timestamp: record.timestamp.map(Moment::of),
        key: decode(key, record.key, "key")?,
        value: decode(value, record.value, "value")?,
        headers: headers_of(record.headers),
    };
    serde_json::to_writer(&mut *out, &line).map_err(|error| error.to_string())?;
    out.push(b'\n');
    Ok(())
}

fn headers_of(headers: Headers<'_>) -> Vec<(Bytes, Option<Bytes>)> {
    headers
        .iter()
        .map(|(name, value)| (Bytes::of(name), value.map(Bytes::of)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Offset, Topic, record::encode_header};

    fn topic() -> AnyTopic {
        Topic::<String, i64>::new("words").any()
    }

    fn texts() -> (ToText, ToText) {
        (topic().key.to_text, topic().value.to_text)
    }

    fn read(line: &str) -> Result<FedRecord, String> {
        FedRecord::from_json(line.as_bytes(), &topic())
    }

    #[test]
    fn a_written_record_can_be_read_again() {
        let mut headers = Vec::new();
        for (name, value) in [
            (&b"a"[..], None),
            (b"a", Some(&b""[..])),
            (b"a", Some(b"x")),
            (b"\xff", Some(b"\xfe\x00")),
        ] {
            encode_header(name, value, &mut headers);
        }
        let record = Record {
            input: 0,
            partition: Partition::new(3),
            offset: Offset::new(7),
            timestamp: Some(Timestamp::from_millis(1_357_035_300_000)),
            key: Some(b"plum"),
            value: Some(&5_i64.to_be_bytes()),
            headers: Headers::from_encoded(&headers),
        };
        let mut line = Vec::new();
        write_json(&record, texts(), &mut line).unwrap();
        let text = String::from_utf8(line).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"partition":3,"offset":7,"timestamp":"2013-01-01T10:15:00Z","key":"plum","value":5,"#,
                r#""headers":[["a",null],["a",""],["a","x"],[{"hex":"ff"},{"hex":"fe00"}]]}"#,
                "\n"
            )
        );
        let read = read(&text).unwrap();
        assert_eq!(read.partition, Some(Partition::new(3)));
        assert_eq!(read.timestamp, record.timestamp);
        assert_eq!(read.key.as_deref(), record.key);
        assert_eq!(read.value.as_deref(), record.value);
        let mut again = Vec::new();
        for (name, value) in &read.headers {
            encode_header(name, value.as_deref(), &mut again);
        }
        assert_eq!(again, headers);
    }

    #[test]
    fn b01_null_and_absent_are_not_empty() {
        let record = Record {
            input: 0,
            partition: Partition::new(0),
            offset: Offset::ZERO,
            timestamp: None,
            key: Some(b""),
            value: None,
            headers: Headers::default(),
        };
        let mut line = Vec::new();
        write_json(&record, texts(), &mut line).unwrap();
        assert_eq!(
            line,
            b"{\"partition\":0,\"offset\":0,\"timestamp\":null,\"key\":\"\",\"value\":null}\n"
        );
        let tombstone = read(r#"{"key":"","value":null}"#).unwrap();
        assert_eq!(
            (tombstone.key.as_deref(), tombstone.value),
            (Some(&b""[..]), None)
        );
        assert_eq!(
            read(r#"{"value":0}"#).unwrap(),
            FedRecord {
                value: Some(vec![0; 8]),
                ..FedRecord::default()
            }
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, wanted) in [
            (r#"{"key":"a"}"#, "missing field `value`"),
            (r#"{"vlue":1}"#, "unknown field `vlue`, expected one of"),
            (r#"{"value":1,"value":2}"#, "duplicate field `value`"),
            (r#"{"value":"plum"}"#, "value: i64"),
            (r#"{"value":9223372036854775808}"#, "value: i64"),
            (r#"{"key":5,"value":1}"#, "key: string"),
            (r#"{"value":1,"timestamp":"yesterday"}"#, "is not a time such as"),
            (r#"{"value":1,"timestamp":true}"#, "expected a time such as"),
            (r#"{"value":1,"partition":-1}"#, "invalid value: integer `-1`"),
            (
                r#"{"value":1,"headers":[["a",{"hex":"f"}]]}"#,
                "two digits for each byte",
            ),
            (r#"{"value":1"#, "EOF while parsing an object (column 10)"),
            ("", "EOF"),
        ] {
            let problem = read(line).unwrap_err();
            assert!(problem.contains(wanted), "{line}: {problem}");
        }
    }

    #[test]
    fn a_key_is_given_as_its_json_or_as_plain_text() {
        let keys = |text: &str, topic: &AnyTopic| parse_key(text, &(topic.key.name)(), topic.key.from_text);
        let text = topic();
        assert_eq!(keys("plum", &text).unwrap(), [b"plum"]);
        assert_eq!(keys("5", &text).unwrap(), [b"5"]);
        assert_eq!(
            keys(r#""plum""#, &text).unwrap(),
            [&b"plum"[..], &br#""plum""#[..]]
        );
        let number = Topic::<i64, i64>::new("numbers").any();
        assert_eq!(keys("5", &number).unwrap(), [5_i64.to_be_bytes()]);
        assert!(keys("plum", &number).unwrap_err().contains("i64"));
    }

    #[test]
    fn plain_text_is_the_text_or_the_json_of_a_value() {
        let text = Topic::<String, String>::new("lines").any();
        assert_eq!(FedRecord::from_text(b"5", &text).unwrap().value.unwrap(), b"5");
        assert_eq!(FedRecord::from_text(b"", &text).unwrap().value.unwrap(), b"");
        assert!(
            FedRecord::from_text(b"\xff", &text)
                .unwrap_err()
                .contains("UTF-8")
        );
        assert_eq!(
            FedRecord::from_text(b"-5", &topic()).unwrap().value.unwrap(),
            (-5_i64).to_be_bytes()
        );
        assert!(
            FedRecord::from_text(b"plum", &topic())
                .unwrap_err()
                .contains("i64")
        );
    }
}
