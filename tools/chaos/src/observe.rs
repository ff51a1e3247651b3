//! An observer of committed records: reads inputs, outputs and the changelog while everything goes on, and hands them to
//! the model.

use std::{sync::Arc, time::Duration};

use kproc::{
    Codec, Offset, Partition, TopicPartition,
    cluster::{Cluster, Isolation, Reader, Result},
};
use serde::de::DeserializeOwned;

use crate::{
    count::{CHANGELOG, Counted, NUMBERS, TALLIES, Tally},
    model::Model,
    options::Options,
};

/// How many records are read at once.
const PIECE: usize = 5000;
/// How often a broker that is away is asked for what others have made something of.
const TRIES: usize = 300;
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
    /// How often a partition ended before a place that was read already.
    pub(crate) ended_early: u64,
}

/// A partition, and how far it was read.
struct Log {
    place: TopicPartition,
    next: Offset,
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
            };
            (0..partitions).map(log).collect()
        };
        Ok(Self {
            reader: cluster.reader(Isolation::ReadCommitted)?,
            inputs: logs(NUMBERS.name()),
            outputs: logs(TALLIES.name()),
            changelogs: logs(CHANGELOG),
            model: Model::new(options.exactly_once),
            history: vec![Vec::new(); partitions as usize],
            digests: vec![Digest::default(); partitions as usize],
            ended_early: 0,
        })
    }

    /// Reads whatever is there. May fail while the broker is away, and is then called again.
    pub(crate) async fn look(&mut self) -> Result<()> {
        for number in 0..self.outputs.len() {
            let outputs = self.read(|observer| &mut observer.outputs[number]).await?;
            let changes = self.read(|observer| &mut observer.changelogs[number]).await;
            // What these were made of is there, and must be known before they are judged.
            let mut inputs = self.read(|observer| &mut observer.inputs[number]).await;
            // What was read is never read again, and must count whatever fails.
            let mut failed = None;
            for _ in 0..TRIES {
                let Err(error) = &inputs else { break };
                failed = Some(error.clone());
                tokio::time::sleep(WAIT).await;
                inputs = self.read(|observer| &mut observer.inputs[number]).await;
            }
            let changes = changes.unwrap_or_else(|error| {
                failed = Some(error);
                Vec::new()
            });
            for seen in inputs? {
                match u64::decode(&seen.value) {
                    Ok(number) => self.model.input(&seen.key, number),
                    Err(error) => self
                        .model
                        .violations
                        .add(|| format!("the input has {}: {error}", seen.key)),
                }
            }
            for seen in outputs {
                self.digests[number].add(seen.offset, seen.key.as_bytes(), &seen.value);
                if let Some(counted) = self.decoded::<Counted>(&seen) {
                    self.model.output(&seen.key, counted);
                }
            }
            for seen in changes {
                if let Some(tally) = self.decoded::<Tally>(&seen) {
                    self.model.logged(&seen.key, tally);
                    self.history[number].push((seen.offset, seen.key, tally));
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    }

    fn decoded<T: DeserializeOwned>(&mut self, seen: &Seen) -> Option<T> {
        let decoded = serde_json::from_slice(&seen.value);
        let wrong = |error: &serde_json::Error| format!("{} at {}: {error}", seen.key, seen.offset);
        decoded
            .inspect_err(|error| self.model.violations.add(|| wrong(error)))
            .ok()
    }

    /// Reads a partition on, to its present end.
    async fn read(&mut self, log: impl Fn(&mut Self) -> &mut Log) -> Result<Vec<Seen>> {
        let Log { place, mut next } = {
            let log = log(self);
            Log {
                place: log.place.clone(),
                next: log.next,
            }
        };
        let ends = self.reader.watermarks(place.clone()).await?;
        self.ended_early += u64::from(ends.stable < next);
        let mut all = Vec::new();
        while next < ends.stable {
            let mut read = match self.reader.read(place.clone(), next, PIECE, WAIT).await {
                Ok(read) => read,
                // Later; what was read so far counts.
                Err(_) if !all.is_empty() => break,
                Err(error) => return Err(error),
            };
            while let Some(record) = read.batch.record(0, place.partition) {
                let key = record.key.unwrap_or_default();
                all.push(Seen {
                    offset: record.offset,
                    key: String::from_utf8_lossy(key).into_owned(),
                    value: record.value.unwrap_or_default().to_vec(),
                });
                read.batch.advance();
            }
            next = read.next;
            log(self).next = next;
        }
        Ok(all)
    }

    /// The ends of the inputs, all of which were read.
    pub(crate) fn input_ends(&self) -> impl Iterator<Item = (&TopicPartition, Offset)> {
        self.inputs.iter().map(|log| (&log.place, log.next))
    }
}
