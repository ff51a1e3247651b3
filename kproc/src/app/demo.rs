//! Demonstrations: programs that run on a cluster of their own and feed themselves.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use super::Feed;
use crate::{
    BoxError, Result, Topic,
    clock::BoxFuture,
    cluster::{self, Cluster, Isolation},
    codec::{Codec, Own},
    record::{Partition, Record, TopicPartition},
    topology::Topology,
};

/// Writes the input of a demonstration.
pub(crate) type FeedWith = Box<dyn FnOnce(&mut Feed) -> Result<()> + Send>;
type SummarizeWith = Box<dyn for<'r> FnOnce(&'r Results) -> BoxFuture<'r, Result<String>>>;

/// What a program does to show itself, when it is started without saying more: it runs as with `--embedded`,
/// feeds itself, and ends with a summary.
///
/// With `--brokers` it is an application like any other; with `--feed` it takes those files instead of its own
/// input. How many partitions and threads it takes is a matter of [settings](crate::App::configure).
///
/// ```no_run
/// # use kproc::{App, Context, Demo, Feed, Processor, Record, Result, Results, Topic, processor::Declare};
/// # use std::process::ExitCode;
/// # #[derive(Default)]
/// # struct Count;
/// # impl Processor for Count {
/// #     fn declare(&mut self, _: &mut dyn Declare) {}
/// #     async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> { Ok(()) }
/// # }
/// const WORDS: Topic<String, String> = Topic::new("words");
/// const COUNTS: Topic<String, u64> = Topic::new("counts");
///
/// fn feed(feed: &mut Feed) -> Result<()> {
///     for word in ["apple", "plum", "apple"] {
///         feed.send(&WORDS, &word, &word)?;
///     }
///     Ok(())
/// }
///
/// async fn summary(results: &Results) -> Result<String> {
///     let counts = results.last_values(&COUNTS).await?;
///     Ok(format!("{} different words, {} apples", counts.len(), counts["apple"]))
/// }
///
/// fn main() -> ExitCode {
///     App::new("count").processor::<Count>().demo(Demo::new(feed).summary(summary)).main()
/// }
/// ```
#[must_use = "a demonstration is given to `App::demo`"]
pub struct Demo {
    pub(crate) feed: FeedWith,
    pub(crate) summary: Option<SummarizeWith>,
}

impl fmt::Debug for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Demo").finish_non_exhaustive()
    }
}

impl Demo {
    /// A demonstration with this input. `feed` is called once, on a thread of its own; the application starts
    /// when all has been fed.
    pub fn new(feed: impl FnOnce(&mut Feed) -> Result<()> + Send + 'static) -> Self {
        Self {
            feed: Box::new(feed),
            summary: None,
        }
    }

    /// What to print when all input was processed.
    pub fn summary(mut self, summary: impl AsyncFnOnce(&Results) -> Result<String> + 'static) -> Self {
        self.summary = Some(Box::new(|results| {
            Box::pin(async move { summary(results).await })
        }));
        self
    }
}

/// What a demonstration has done.
pub struct Results {
    pub(crate) cluster: Arc<dyn Cluster>,
    pub(crate) topology: Arc<Topology>,
    pub(crate) records: u64,
    pub(crate) elapsed: Duration,
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results")
            .field("records", &self.records)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

impl Results {
    /// How many records were processed: those of all topics that the application reads.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How long that took, from the start of the application until all was processed. Feeding comes before.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The most memory that the process ever had, in bytes; `None` where that cannot be known.
    pub fn peak_memory() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    /// The last value of each key of a topic. Records without a key are passed over; a null value removes its
    /// key.
    pub async fn last_values<K, V>(&self, topic: &Topic<K, V>) -> Result<BTreeMap<K::Owned, V::Owned>>
    where
        K: Codec + Own<Owned: Ord>,
        V: Codec + Own,
    {
        let mut last = BTreeMap::new();
        let mut problem = None;
        let mut take = |record: &Record<'_>| -> Result<(), BoxError> {
            let Some(key) = record.key else { return Ok(()) };
            let key = K::own(K::decode(key)?);
            match record.value {
                Some(value) => drop(last.insert(key, V::own(V::decode(value)?))),
                None => drop(last.remove(&key)),
            }
            Ok(())
        };
        let bound = self.topology.bound(topic.name());
        each_record(&*self.cluster, &bound, |record| {
            problem = take(record).err();
            problem.is_none()
        })
        .await?;
        match problem {
            None => Ok(last),
            Some(problem) => Err(crate::Error::msg(format_args!(
                "topic `{}`: {problem}",
                topic.name()
            ))),
        }
    }
}

/// Calls `each` with every committed record of a topic, partition after partition, until it returns `false`.
/// A topic that does not exist has no records.
pub(crate) async fn each_record(
    cluster: &dyn Cluster,
    topic: &Arc<str>,
    mut each: impl FnMut(&Record<'_>) -> bool,
) -> cluster::Result<()> {
    /// So many records are read at once.
    const PIECE: usize = 4096;

    let description = cluster
        .admin()?
        .describe(vec![topic.clone()])
        .await?
        .pop()
        .flatten();
    let mut reader = cluster.reader(Isolation::ReadCommitted)?;
    for number in 0..description.map_or(0, |topic| topic.partitions) {
        let partition = Partition::new(number);
        let place = TopicPartition::new(topic.clone(), partition);
        let ends = reader.watermarks(place.clone()).await?;
        let mut next = ends.earliest;
        while next < ends.stable {
            let mut read = reader.read(place.clone(), next, PIECE, Duration::ZERO).await?;
            while let Some(record) = read.batch.record(0, partition) {
                if !each(&record) {
                    return Ok(());
                }
                read.batch.advance();
            }
            next = read.next;
        }
    }
    Ok(())
}
