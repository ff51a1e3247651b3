//! Apache Kafka, through librdkafka.
//!
//! What may be here: how the cluster's verbs are done by librdkafka, which settings that takes, and what its errors
//! mean. What may not: anything about tasks, state or time-outs of the runtime. `unsafe` and the names of
//! librdkafka's functions are in `native` only.
//!
//! - `config`: properties of clients: kproc's, the user's, and those that the user cannot have. `limits`: what they
//!   may take of memory.
//! - `consumer`: membership of a group. A thread polls, and runs the rebalances; each partition has a queue.
//! - `producer`: records and transactions. One thread for the calls that block, one for delivery reports.
//! - `reader` and `admin`: questions are futures, and take no thread.
//! - `answer`: how long answers are waited for. `rescue`: clients that wait for nothing.
//! - `error`: what each code means. `log`: what librdkafka has to say, a few times at most. `statistics` and
//!   `token`: what else goes to and fro beside requests.
//!
//! # What differs from the model in [`embedded`](super::embedded)
//!
//! - librdkafka cannot write the timestamp 0, which it takes for "now": such records are written with 1, a
//!   millisecond later. Records that were written with 0 by others are read as they are. -1 is "no timestamp".
//! - A header's name ends at its first zero byte.
//! - [`Queue::known_end`](super::Queue::known_end) is the high watermark: it may count records of a transaction that
//!   is not yet decided.
//! - The session time-out of a group belongs to the group, not to the member, if the brokers have the `consumer`
//!   protocol: joining sets it (and the heartbeats') where it differs, if the brokers allow that; see `consumer::session`.
//! - With the `classic` protocol every rebalance takes all partitions from all members; and a queue that met an
//!   offset that the log does not have cannot be used any more.
//! - A commit that is on its way when its revocation's deadline passes may still be taken.
//! - Dropping a member ends its heartbeats once its queues and batches are dropped, too.
//! - A stalled or restarted broker costs the partitions, if it is away for longer than a session: they are lost, and
//!   assigned anew at once when it is back. Bugs of librdkafka (2.12) around that are gone round: requests to coordinators
//!   never time out inside it, and a member asks for committed offsets as such, not as an administrator (`native`).
//!   A client that was told of no brokers, and a call that does not return, go on after some seconds only (`rescue`).
//!   Clients for administration and for single reads keep connections to all brokers, for asking for one that is away
//!   would spin otherwise (`config`).
//! - Leaving ends without an answer when no broker is connected.
//! - Several records for a topic whose `max.message.bytes` is small can make one batch that is too large for it,
//!   unless [`ProducerOptions::max_batch`] is no larger.

mod admin;
mod answer;
mod client_thread;
mod config;
mod connect;
mod consumer;
mod error;
mod limits;
mod log;
mod native;
mod producer;
mod reader;
mod rescue;
mod statistics;
mod token;
mod verdicts;

use std::{fmt, sync::Arc};

pub use config::KafkaOptions;
pub use token::{Token, TokenProvider};
#[cfg(test)]
pub(crate) use verdicts::{Step, kinds};

use self::{
    admin::KafkaAdmin, client_thread::ClientThread, config::Config, consumer::KafkaMember, native::Client,
    producer::KafkaProducer, reader::KafkaReader,
};
use super::{Admin, Cluster, Isolation, JoinRequest, Member, Producer, ProducerOptions, Reader, Result};

/// A Kafka cluster.
///
/// ```no_run
/// use std::sync::Arc;
/// use kproc::{SystemClock, cluster::{Cluster, kafka::{KafkaCluster, KafkaOptions}}};
///
/// # fn main() -> kproc::cluster::Result<()> {
/// let options = KafkaOptions::new(vec!["localhost:9092".into()], Arc::new(SystemClock::new()));
/// let cluster = KafkaCluster::new(options)?;
/// let admin = cluster.admin()?;
/// # Ok(())
/// # }
/// ```
pub struct KafkaCluster {
    shared: Arc<Shared>,
}

/// Shows no secrets.
impl fmt::Debug for KafkaCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaCluster").finish_non_exhaustive()
    }
}

/// What all objects of a cluster share.
struct Shared {
    config: Config,
    rescue: rescue::Rescue,
    /// Stops what readers have read, so that their clients can be used again.
    stops: ClientThread,
    readers: reader::Pool,
}

impl KafkaCluster {
    /// Checks the options. No connection is made yet.
    pub fn new(options: KafkaOptions) -> Result<Self> {
        let config = Config::new(options)?;
        Ok(Self {
            shared: Arc::new(Shared {
                rescue: rescue::Rescue::start(
                    config.brokers.clone(),
                    config.log.clone(),
                    config.clock.clone(),
                )?,
                config,
                stops: ClientThread::start("kproc-kafka-stop")?,
                readers: reader::Pool::default(),
            }),
        })
    }
}

impl Shared {
    /// A client with these properties.
    fn client(&self, kind: native::Kind, properties: &config::Built) -> Result<Arc<Client>> {
        let properties = properties.iter().map(|(name, value)| (&**name, &**value));
        let client = Client::new(kind, properties, self.config.log.clone())?;
        self.rescue.add(&client);
        Ok(client)
    }
}

impl Cluster for KafkaCluster {
    fn join(&self, request: JoinRequest) -> Result<Box<dyn Member>> {
        Ok(Box::new(KafkaMember::join(self.shared.clone(), request)?))
    }

    fn reader(&self, isolation: Isolation) -> Result<Box<dyn Reader>> {
        Ok(Box::new(KafkaReader::new(self.shared.clone(), isolation)?))
    }

    fn producer(&self, options: ProducerOptions) -> Result<Box<dyn Producer>> {
        Ok(Box::new(KafkaProducer::new(&self.shared, options)?))
    }

    fn admin(&self) -> Result<Box<dyn Admin>> {
        let client = self
            .shared
            .client(native::Kind::Other, &self.shared.config.admin())?;
        Ok(Box::new(KafkaAdmin::new(
            client,
            self.shared.config.clock.clone(),
        )))
    }

    fn principal(&self) -> Option<String> {
        self.shared.config.principal()
    }
}
