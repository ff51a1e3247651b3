//! Files on their way to topics.

use std::{
    fs::File,
    io::{BufRead, BufReader, stdin},
    path::Path,
};

use super::{args::FeedFormat, failure::Failure, lines::FedRecord};
use crate::{
    app::{Feed, Partitions},
    outbox::RawRecord,
    topic::AnyTopic,
};

/// Some programs begin a text with it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file to be fed to a topic.
pub(crate) struct FeedFile {
    topic: AnyTopic,
    /// Its name for messages.
    name: String,
    format: FeedFormat,
    lines: Box<dyn BufRead + Send>,
    /// A bad line ends the file instead of the run.
    partial: bool,
}

impl FeedFile {
    /// Opens a file (`-`: standard input). Without a `format`, a name that ends in `.jsonl` says JSON lines.
    pub(crate) fn open(
        topic: AnyTopic,
        path: &str,
        format: Option<FeedFormat>,
        partial: bool,
    ) -> Result<Self, Failure> {
        let is_json = Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        let format = format.unwrap_or(if is_json {
            FeedFormat::JsonLines
        } else {
            FeedFormat::Text
        });
        let (name, lines): (_, Box<dyn BufRead + Send>) = if path == "-" {
            ("standard input", Box::new(BufReader::new(stdin())))
        } else {
            let problem =
                |error| Failure::usage(format!("cannot read {path} to feed `{}`: {error}", topic.name));
            let file = File::open(path).map_err(problem)?;
            // Opening a directory works; reading it does not.
            if file.metadata().map_err(problem)?.is_dir() {
                return Err(Failure::usage(format!(
                    "cannot read {path} to feed `{}`: it is a directory",
                    topic.name
                )));
            }
            (path, Box::new(BufReader::with_capacity(1 << 16, file)))
        };
        Ok(Self {
            topic,
            name: name.to_owned(),
            format,
            lines,
            partial,
        })
    }

    /// Feeds all its lines. Returns the bad line that was the end of a file of which a part is welcome.
    pub(crate) fn feed(
        mut self,
        feed: &mut Feed,
        partitions: &Partitions,
    ) -> Result<Option<Failure>, Failure> {
        let mut line = Vec::new();
        // All that can be fed are there.
        let partitions = partitions.get(&self.topic.name).copied().unwrap_or_default();
        // What is bytes is nobody's text.
        let is_text = self.format == FeedFormat::JsonLines || (self.topic.value.name)() != "bytes";
        for number in 1_u64.. {
            line.clear();
            let read = self.lines.read_until(b'\n', &mut line);
            if read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", self.name)))? == 0 {
                break;
            }
            let mut text = line.strip_suffix(b"\n").unwrap_or(&line);
            if number == 1 && is_text {
                text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            }
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            match self.parse(text, partitions) {
                Ok(Some(record)) => push(feed, &self.topic, &record)?,
                Ok(None) => {}
                Err(what) => {
                    let failure = Failure::usage(format!("{}:{number}: {what}", self.name));
                    return if self.partial {
                        Ok(Some(failure))
                    } else {
                        Err(failure)
                    };
                }
            }
        }
        Ok(None)
    }

    /// `None`: an empty line between JSON lines.
    fn parse(&self, line: &[u8], partitions: u32) -> Result<Option<FedRecord>, String> {
        let record = match self.format {
            FeedFormat::Text => FedRecord::from_text(line, &self.topic)?,
            FeedFormat::JsonLines if line.trim_ascii().is_empty() => return Ok(None),
            FeedFormat::JsonLines => FedRecord::from_json(line, &self.topic)?,
        };
        if let Some(partition) = record.partition.filter(|partition| partition.get() >= partitions) {
            return Err(format!(
                "there is no partition {partition}: `{}` has {partitions} (see --partitions)",
                self.topic.name
            ));
        }
        if let Some(timestamp) = record
            .timestamp
            .filter(|timestamp| *timestamp < crate::Timestamp::EPOCH)
        {
            return Err(format!(
                "a record cannot have a timestamp before 1970, such as {timestamp}"
            ));
        }
        Ok(Some(record))
    }
}

fn push(feed: &mut Feed, topic: &AnyTopic, record: &FedRecord) -> Result<(), Failure> {
    let headers: Vec<_> = record
        .headers
        .iter()
        .map(|(name, value)| (&name[..], value.as_deref()))
        .collect();
    let record = RawRecord {
        partition: record.partition,
        timestamp: record.timestamp,
        key: record.key.as_deref(),
        value: record.value.as_deref(),
        headers: &headers,
    };
    feed.push(&topic.name, &record).map_err(Failure::run)
}
