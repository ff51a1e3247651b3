//! The test driver: one application, one embedded cluster, one virtual clock, and a test that moves them.
//!
//! Here: records in and out, time, looking in. How the application starts, stops and fails is in `driver_life`.

use std::{fmt, sync::Arc, time::Duration};

use kproc_store::codec::{Codec, Own};

use super::{
    DriverError, Fired, Received, TestDriverBuilder, TestMessage, builder::Partitions, client::Client,
    instance::Instance, stage::Stage,
};
use crate::{
    App, Processor, Topic,
    clock::Clock,
    cluster::embedded::EmbeddedCluster,
    engine::FiredLog,
    outbox::RawRecord,
    payload::{KeyPayload, Payload},
    record::{Partition, Timestamp},
    runtime::{Lent, Status},
    topology::Topology,
};

/// Key and value in their owned forms.
type Pair<K, V> = (<K as Own>::Owned, <V as Own>::Owned);

/// Runs an application in a test. See [the guide](crate::testing).
///
/// Each call runs the application until nothing more can happen at the present time. A failure of the
/// application is told by the call that led to it, and then by every call that needs a running application, until
/// it is started again; what it has sent before can still be received.
pub struct TestDriver {
    /// Tasks that the test is looking into. First, for they go before the environments they read.
    pub(super) lent: Vec<Lent>,
    pub(super) instance: Option<Instance>,
    pub(super) stage: Stage,
    /// How many instances there have been.
    pub(super) instances: u64,
    pub(super) cluster: EmbeddedCluster,
    pub(super) client: Client,
    pub(super) app: App,
    pub(super) topology: Arc<Topology>,
    pub(super) partitions: Partitions,
    pub(super) fired: FiredLog,
    /// The timestamp of what is sent, if it is not the wall clock's.
    pub(super) timestamp: Option<Timestamp>,
    /// Whether the application has failed, and the test knows.
    pub(super) told: bool,
    pub(super) state_dir: tempfile::TempDir,
}

impl TestDriver {
    /// Starts an application of one processor, on topics of one partition. [`builder`](Self::builder) for more.
    pub fn new<P: Processor + Default>() -> Result<Self, DriverError> {
        Self::builder(App::new("test").processor::<P>()).start()
    }

    /// A driver for this application.
    pub fn builder(app: App) -> TestDriverBuilder {
        TestDriverBuilder::new(app)
    }

    // Records in.

    /// Sends a record, and runs the application. Takes what `ctx.send` takes: `&item`, `Option` of it, or
    /// [`Null`](crate::Null). Its timestamp is the wall clock's; see [`set_timestamp`](Self::set_timestamp).
    pub fn send<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> Result<(), DriverError> {
        self.message(topic, key, value).send()
    }

    /// A record with headers, or with a partition or timestamp of its own, or one that shall wait.
    pub fn message<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> TestMessage<'_> {
        TestMessage::typed(self, topic, key, value)
    }

    /// A record of bytes, whatever the topic's types say: for records that nobody should have sent.
    pub fn raw<K, V>(
        &mut self,
        topic: &Topic<K, V>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> TestMessage<'_> {
        TestMessage::raw(self, topic.name(), key, value)
    }

    /// From now on, records are sent with this timestamp; `None`: with the wall clock's, as in the beginning.
    pub fn set_timestamp(&mut self, timestamp: impl Into<Option<Timestamp>>) {
        self.timestamp = timestamp.into();
    }

    /// The timestamp of what is sent now.
    pub(super) fn timestamp(&self) -> Timestamp {
        self.timestamp.unwrap_or_else(|| self.wall_time())
    }

    /// Writes a record to a topic of this name in the program.
    pub(super) fn write(&mut self, topic: &str, record: &RawRecord<'_>) -> Result<(), DriverError> {
        let topic = self.topology.bound(topic);
        self.client.write(&mut self.stage.executor, &topic, record)
    }

    // Records out.

    /// The next record of a topic, in its owned form: `None` if there is none (yet). A null key or value has no
    /// owned form, and is an error here: [`receive_record`](Self::receive_record) shows it.
    ///
    /// Reading a topic takes nothing away from the application: the test has a place of its own in each topic.
    pub fn receive<K: Codec + Own, V: Codec + Own>(
        &mut self,
        topic: &Topic<K, V>,
    ) -> Result<Option<Pair<K, V>>, DriverError> {
        let record = self.receive_record(topic)?;
        record.map(|record| record.owned()).transpose()
    }

    /// All that [`receive`](Self::receive) would give now.
    pub fn receive_all<K: Codec + Own, V: Codec + Own>(
        &mut self,
        topic: &Topic<K, V>,
    ) -> Result<Vec<Pair<K, V>>, DriverError> {
        std::iter::from_fn(|| self.receive(topic).transpose()).collect()
    }

    /// The next record of a topic, with everything in it: null, headers, timestamp, place.
    pub fn receive_record<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
    ) -> Result<Option<Received<K, V>>, DriverError> {
        let told = self.told;
        if let Err(failure) = self.settle()
            && !told
        {
            return Err(failure);
        }
        let topic = self.topology.bound(topic.name());
        self.client.receive(&mut self.stage.executor, &topic)
    }

    // Time.

    /// What the wall clock shows.
    pub fn wall_time(&self) -> Timestamp {
        self.stage.executor.clock().wall()
    }

    /// Lets time pass for a running application: timers fire when they are due, commits and retries happen when
    /// it is time for them.
    pub fn advance_wall_clock(&mut self, by: Duration) -> Result<(), DriverError> {
        self.settle()?;
        self.run(by)
    }

    /// Lets time pass while nothing runs, as when a laptop sleeps. Afterwards each timer that is due fires once.
    pub fn suspend(&mut self, by: Duration) -> Result<(), DriverError> {
        self.settle()?;
        self.stage.executor.jump(by);
        self.settle()
    }

    /// Advances the stream time of every task that has one, as a record would that no handler takes. (What
    /// normally advances it is a record with a later timestamp.)
    pub fn advance_stream_time(&mut self, by: Duration) -> Result<(), DriverError> {
        self.borrow_tasks()?;
        for lent in &mut self.lent {
            lent.task.advance_stream_time(by);
        }
        self.settle()
    }

    /// The timers of a processor that have fired since this was last asked, in order, those of all partitions.
    pub fn fired<P: Processor>(&mut self) -> Vec<Fired> {
        self.fired.take(&P::name())
    }

    // Looking in.

    /// A processor, at rest, in partition 0: its stores and its plain fields.
    ///
    /// ```
    /// # use kproc::{prelude::*, testing::TestDriver};
    /// # const WORDS: Topic<String, i64> = Topic::new("words");
    /// # #[processor]
    /// # #[derive(Default)]
    /// # struct Totals { #[state] totals: Table<String, i64> }
    /// # #[processor]
    /// # impl Totals {
    /// #     #[on_message(WORDS)]
    /// #     fn add(&mut self, word: &str, n: i64) -> Result<()> {
    /// #         *self.totals.entry(word)?.or_default() += n;
    /// #         Ok(())
    /// #     }
    /// # }
    /// # fn main() -> Result<()> {
    /// let mut driver = TestDriver::new::<Totals>()?;
    /// driver.send(&WORDS, "plum", &3)?;
    /// assert_eq!(driver.processor::<Totals>().totals.get("plum")?, Some(3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the application has no such processor or is not running (any more), or if a handler is still waiting
    /// for something.
    #[track_caller]
    pub fn processor<P: Processor>(&mut self) -> &P {
        self.processor_in(Partition::new(0))
    }

    /// A processor, at rest, in this partition.
    ///
    /// # Panics
    /// As [`processor`](Self::processor), and if there is no such partition.
    #[track_caller]
    pub fn processor_in<P: Processor>(&mut self, partition: Partition) -> &P {
        let mut found = self.processors().into_iter();
        let here = found
            .find(|(at, _)| *at == partition)
            .map(|(_, processor)| processor);
        here.unwrap_or_else(|| {
            panic!(
                "no processor `{}` ({}) rests in partition {partition}: is it part of the application, \
                 does the partition exist?",
                P::name(),
                std::any::type_name::<P>()
            )
        })
    }

    /// A processor, at rest, in all partitions: one for each, in their order.
    ///
    /// # Panics
    /// If the application is not running (any more), or if a handler is still waiting for something.
    #[track_caller]
    pub fn processors<P: Processor>(&mut self) -> Vec<(Partition, &P)> {
        if let Err(error) = self.borrow_tasks() {
            panic!("cannot look into processor `{}`: {error}", P::name());
        }
        let numbers = 0..self.topology.processors.len();
        let found = self.lent.iter().filter_map(|lent| {
            let mut processors = numbers.clone().filter_map(|number| lent.task.processor(number));
            let processor = processors.find_map(|processor| processor.downcast_ref())?;
            Some((lent.partition, processor))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(partition, _)| *partition);
        found
    }

    /// What the application is doing.
    pub fn status(&self) -> Option<Status> {
        self.instance.as_ref().map(Instance::status)
    }

    /// Takes the tasks out of the application, as far as they rest.
    fn borrow_tasks(&mut self) -> Result<(), DriverError> {
        self.settle()?;
        let Some(instance) = &self.instance else {
            return Err(DriverError::NotRunning);
        };
        let mut lent = instance.lend();
        self.stage.executor.settle();
        self.lent = std::iter::from_fn(|| lent.try_recv().ok()).collect();
        self.check()
    }
}

impl fmt::Debug for TestDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestDriver")
            .field("wall_time", &self.wall_time())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
