//! An observer of committed records: reads inputs, outputs and the changelog while everything goes on, and hands them to
//! the model.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use kproc::{
    Codec, Offset, Partition, TopicPartition,
    cluster::{Cluster, Isolation, Reader, Result},
};
use serde::de::DeserializeOwned;

use crate::{
    count::{CHANGELOG, Counted, NUMBERS, TALLIES, Tally},
    model::Model,
    options::{Options, Processing},
};

/// How many records are read at once.
const PIECE: usize = 5000;
/// How long a read waits for what it knows to be there.
const WAIT: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Observer {
    reader: Box<dyn Reader>,
    inputs: Vec<Log>,
    outputs: Vec<Log>,
    changelogs: Vec<Log>,
    pub(crate) model: Model,
    /// The changelog of each partition, as far as it was read.
    pub(crate) history: Vec<Vec<(Offset, String, Tally)>>,
    /// What was seen of each partition of the outputs.
    pub(crate) digests: Vec<Digest>,
}

/// A partition, and how far it was read.
struct Log {
    place: TopicPartition,
    next: Offset,
    /// What was read and not yet judged.
    read: VecDeque<Seen>,
    /// How often it ended before a place that was read already.
    ended_early: u64,
}

/// Tells two sequences of records apart.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    records: u64,
    digest: u64,
}

impl Digest {
    fn add(&mut self, offset: Offset, key: &[u8], value: &[u8]) {
        self.records += 1;
        let bytes = offset.get().to_be_bytes();
        for byte in bytes.iter().chain(key).chain(value) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// A record that was read.
struct Seen {
    offset: Offset,
    key: String,
    value: Vec<u8>,
}

impl Observer {
    pub(crate) fn new(cluster: &dyn Cluster, options: &Options) -> Result<Self> {
        let partitions = options.partitions;
        let logs = |topic: &str| {
            let topic: Arc<str> = topic.into();
            let log = |number| Log {
                place: TopicPartition::new(topic.clone(), Partition::new(number)),
                next: Offset::ZERO,
                read: VecDeque::new(),
                ended_early: 0,
            };
            (0..partitions).map(log).collect()
        };
        Ok(Self {
            reader: cluster.reader(Isolation::ReadCommitted)?,
            inputs: logs(NUMBERS.name()),
            outputs: logs(TALLIES.name()),
            changelogs: logs(CHANGELOG),
            model: Model::new(options.judged == Processing::ExactlyOnce),
            history: vec![Vec::new(); partitions as usize],
            digests: vec![Digest::default(); partitions as usize],
        })
    }

    /// Reads whatever is there. May fail while the broker is away, and is then called again.
    pub(crate) async fn look(&mut self) -> Result<()> {
        for number in 0..self.outputs.len() {
            let logs = [&mut self.outputs, &mut self.changelogs, &mut self.inputs];
            let mut outcome = Ok(());
            for logs in logs {
                if outcome.is_ok() {
                    outcome = read(&mut *self.reader, &mut logs[number]).await;
                }
            }
            // What was read counts, whatever has failed.
            self.judge(number);
            outcome?;
        }
        Ok(())
    }

    /// Holds what was read of a partition against what has come in. What was made of something that was not read yet
    /// waits.
    fn judge(&mut self, number: usize) {
        let model = &mut self.model;
        for seen in self.inputs[number].read.drain(..) {
            match u64::decode(&seen.value) {
                Ok(number) => model.input(&seen.key, number),
                Err(error) => model
                    .violations
                    .add(|| format!("the input has {}: {error}", seen.key)),
            }
        }
        while let Some(seen) = self.outputs[number].read.pop_front() {
            if let Some(counted) = decoded::<Counted>(&seen, model) {
                if !model.knows(&seen.key, counted) {
                    self.outputs[number].read.push_front(seen);
                    break;
                }
                model.output(&seen.key, counted, seen.offset);
            }
            self.digests[number].add(seen.offset, seen.key.as_bytes(), &seen.value);
        }
        while let Some(seen) = self.changelogs[number].read.pop_front() {
            let Some(tally) = decoded::<Tally>(&seen, model) else {
                continue;
            };
            if !model.has_come_to(&seen.key, tally) {
                self.changelogs[number].read.push_front(seen);
                break;
            }
            model.logged(&seen.key, tally, seen.offset);
            self.history[number].push((seen.offset, seen.key, tally));
        }
    }

    /// Everything was read: what still waits was made of nothing.
    pub(crate) fn end(&mut self) {
        for log in self.outputs.iter_mut().chain(&mut self.changelogs) {
            for seen in log.read.drain(..) {
                let what = || {
                    format!(
                        "{} at {} has {} for {}, which never came in, or behind that",
                        log.place,
                        seen.offset,
                        String::from_utf8_lossy(&seen.value),
                        seen.key
                    )
                };
                self.model.violations.add(what);
            }
        }
    }

    /// How often a partition ended before a place that was read already.
    pub(crate) fn ended_early(&self) -> u64 {
        let logs = self.inputs.iter().chain(&self.outputs).chain(&self.changelogs);
        logs.map(|log| log.ended_early).sum()
    }

    /// The ends of the inputs, all of which were read.
    pub(crate) fn input_ends(&self) -> impl Iterator<Item = (&TopicPartition, Offset)> {
        self.inputs.iter().map(|log| (&log.place, log.next))
    }
}

fn decoded<T: DeserializeOwned>(seen: &Seen, model: &mut Model) -> Option<T> {
    let decoded = serde_json::from_slice(&seen.value);
    let wrong = |error: &serde_json::Error| format!("{} at {}: {error}", seen.key, seen.offset);
    decoded
        .inspect_err(|error| model.violations.add(|| wrong(error)))
        .ok()
}

/// Reads a partition on, to its present end.
async fn read(reader: &mut dyn Reader, log: &mut Log) -> Result<()> {
    let place = log.place.clone();
    let ends = reader.watermarks(place.clone()).await?;
    if ends.stable < log.next {
        log.ended_early += 1;
        eprintln!(
            "         {place} was read up to {}, and ends now at {ends:?}",
            log.next
        );
    }
    while log.next < ends.stable {
        let mut read = reader.read(place.clone(), log.next, PIECE, WAIT).await?;
        while let Some(record) = read.batch.record(0, place.partition) {
            let key = record.key.unwrap_or_default();
            log.read.push_back(Seen {
                offset: record.offset,
                key: String::from_utf8_lossy(key).into_owned(),
                value: record.value.unwrap_or_default().to_vec(),
            });
            read.batch.advance();
        }
        log.next = read.next;
    }
    Ok(())
}
