//! The way into topics for whoever feeds an application: a demonstration, or the command line.

use std::{collections::BTreeMap, fmt, mem, sync::Arc, thread};

use tokio::sync::mpsc;

use super::App;
use crate::{
    Error, KeyPayload, Payload, Result, SendError, Timestamp, Topic,
    cluster::{self, Cluster, ClusterErrorKind, NewTopic, ProducerOptions},
    codec::Codec,
    error::panic_message,
    outbox::{Outbox, RawRecord},
    runtime::block_on,
    topology::Topology,
};

/// Writes records to topics, ahead of the application. It lives on a thread of its own, from which records
/// leave in large pieces.
pub struct Feed {
    topology: Arc<Topology>,
    /// Names in the cluster by names in the program, of topics that were written to.
    bound: BTreeMap<Box<str>, Arc<str>>,
    piece: Outbox,
    pieces: mpsc::Sender<Outbox>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed")
            .field("waiting", &self.piece.len())
            .finish_non_exhaustive()
    }
}

/// How many partitions the topics have that can be fed, by their names in the program.
pub(crate) type Partitions = BTreeMap<Arc<str>, u32>;

/// A piece has so many bytes, or so many records.
const PIECE_BYTES: usize = 1 << 20;
const PIECE_RECORDS: usize = 1 << 14;
/// So many pieces may wait.
const WAITING: usize = 4;

#[expect(clippy::needless_pass_by_value, reason = "payloads are references, or `Null`")]
impl Feed {
    /// A feed, and the end at which its pieces arrive.
    fn new(topology: Arc<Topology>) -> (Self, mpsc::Receiver<Outbox>) {
        let (pieces, arrivals) = mpsc::channel(WAITING);
        let (piece, bound) = (Outbox::default(), BTreeMap::new());
        (
            Self {
                topology,
                bound,
                piece,
                pieces,
                key: Vec::new(),
                value: Vec::new(),
            },
            arrivals,
        )
    }

    /// Writes a record without a timestamp of its own: it gets the time at which it is written.
    pub fn send<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> Result<()> {
        self.write(topic, &key, &value, None)
    }

    /// Writes a record with this timestamp.
    pub fn send_at<K: Codec, V: Codec>(
        &mut self,
        timestamp: Timestamp,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> Result<()> {
        self.write(topic, &key, &value, Some(timestamp))
    }

    fn write<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: &impl KeyPayload<K>,
        value: &impl Payload<V>,
        timestamp: Option<Timestamp>,
    ) -> Result<()> {
        let (mut key_bytes, mut value_bytes) = (mem::take(&mut self.key), mem::take(&mut self.value));
        key_bytes.clear();
        value_bytes.clear();
        let written = key
            .write(&mut key_bytes)
            .and_then(|key| Ok((key, value.write(&mut value_bytes)?)));
        let (has_key, has_value) = written.map_err(|error| SendError::Encode {
            topic: topic.name().to_owned(),
            error,
        })?;
        let record = RawRecord {
            partition: None,
            timestamp,
            key: has_key.then_some(&key_bytes),
            value: has_value.then_some(&value_bytes),
            headers: &[],
        };
        self.push(topic.name(), &record)?;
        (self.key, self.value) = (key_bytes, value_bytes);
        Ok(())
    }

    /// Writes a record of bytes to the topic of this name in the program.
    pub(crate) fn push(&mut self, topic: &str, record: &RawRecord<'_>) -> Result<()> {
        if !self.bound.contains_key(topic) {
            self.bound.insert(topic.into(), self.topology.bound(topic));
        }
        self.piece.push_raw(&self.bound[topic], record);
        if self.piece.bytes() >= PIECE_BYTES || self.piece.len() >= PIECE_RECORDS {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Hands over what is left.
    fn finish(mut self) -> Result<()> {
        if self.piece.is_empty() {
            Ok(())
        } else {
            self.hand_over()
        }
    }

    fn hand_over(&mut self) -> Result<()> {
        let piece = mem::take(&mut self.piece);
        self.pieces
            .blocking_send(piece)
            .map_err(|_| Error::msg("stopped before all was fed"))
    }
}

impl App {
    /// Makes the topics that the application declares, where they are missing, with this many partitions and without
    /// an end of retention, and writes to them what `job` feeds. Blocks until all of it is written. For tests, and for programs that run
    /// [on a cluster of their own](App::on).
    pub fn feed(
        &self,
        partitions: u32,
        job: impl FnOnce(&mut Feed) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let topology = Arc::new(self.topology(&self.settings)?);
        let cluster = self
            .cluster
            .as_ref()
            .ok_or_else(|| Error::msg("there is no cluster to feed: give one by `App::on`"))?;
        block_on(async {
            make_topics(&**cluster, &topology, partitions).await?;
            write(&**cluster, topology, job, |_| {}).await
        })
    }
}

/// Makes the declared topics that are missing, with this many partitions; they keep what they get for ever. Says how many partitions all of them have.
pub(crate) async fn make_topics(
    cluster: &dyn Cluster,
    topology: &Topology,
    partitions: u32,
) -> cluster::Result<Partitions> {
    let declared = topology.declared_topics();
    let bound: Vec<Arc<str>> = declared.keys().map(|name| topology.bound(name)).collect();
    let mut admin = cluster.admin()?;
    let before = admin.describe(bound.clone()).await?;
    let missing: Vec<Arc<str>> = bound
        .iter()
        .zip(&before)
        .filter(|(_, found)| found.is_none())
        .map(|(name, _)| name.clone())
        .collect();
    let new = |name: &Arc<str>| NewTopic {
        name: name.clone(),
        partitions,
        // What is fed may be old by its timestamps, and what is made of it, too: brokers would delete it at once.
        config: vec![("retention.ms".to_owned(), "-1".to_owned())],
    };
    let made = admin.create(missing.iter().map(new).collect()).await?;
    for (result, topic) in made.into_iter().zip(&missing) {
        match result {
            Ok(()) => tracing::debug!(%topic, partitions, "made"),
            // Somebody else was faster.
            Err(error) if error.kind == ClusterErrorKind::TopicExists => {}
            Err(error) => return Err(error),
        }
    }
    let found = admin.describe(bound).await?.into_iter();
    let counts = found.map(|topic| topic.map_or(partitions, |topic| topic.partitions));
    Ok(declared.into_keys().zip(counts).collect())
}

/// Runs `job` on a thread of its own, and writes what it feeds. `progress` hears how many records are written.
pub(crate) async fn write<T: Send + 'static, E: From<Error> + Send + 'static>(
    cluster: &dyn Cluster,
    topology: Arc<Topology>,
    job: impl FnOnce(&mut Feed) -> Result<T, E> + Send + 'static,
    mut progress: impl FnMut(u64),
) -> Result<T, E> {
    let failed = |error| Error::msg(format_args!("cannot write what was fed: {error}"));
    let mut producer = cluster.producer(ProducerOptions::default()).map_err(failed)?;
    let (mut feed, mut pieces) = Feed::new(topology);
    let feeding = thread::Builder::new().name("kproc-feed".into()).spawn(move || {
        let done = job(&mut feed)?;
        feed.finish()?;
        Ok(done)
    });
    let feeding = feeding.map_err(|error| Error::msg(format_args!("cannot start a thread: {error}")))?;
    let mut fed = 0;
    while let Some(mut piece) = pieces.recv().await {
        fed += piece.len() as u64;
        producer.send(&mut piece).await.map_err(failed)?;
        producer.flush().await.map_err(failed)?;
        progress(fed);
    }
    // The pieces have ended, so the thread has, too, or is about to.
    feeding.join().unwrap_or_else(|panic| {
        Err(Error::msg(format_args!("feeding panicked: {}", panic_message(&*panic))).into())
    })
}
