//! What the tests of the engine also do with a rig.

use super::*;
use std::sync::atomic::Ordering::Relaxed;

use crate::engine::{
    Carry, Task, TaskCommit,
    rig::{PARTITION, now_or_never},
};
use kproc_store::CommitPoint;

/// A record that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) topic: String,
    pub(crate) partition: Option<u32>,
    pub(crate) timestamp: Option<i64>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Rig {
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        now_or_never(self.task.stop(&self.clock))
    }

    /// Feeds records to a topic.
    pub(crate) fn feed(&mut self, topic: &str, records: &[Fed<'_>]) {
        let inputs = &self.topology.groups[0].inputs;
        let input = inputs
            .iter()
            .position(|input| &*input.name == topic)
            .expect("an input");
        let load = Load::new(self.next[input], records);
        self.next[input] += records.len() as u64;
        self.feed_load(input, &load);
    }

    /// Lets wall and monotonic time go on.
    pub(crate) fn advance(&mut self, millis: i64) {
        self.clock.wall.fetch_add(millis, Relaxed);
        self.clock.now.fetch_add(millis, Relaxed);
    }

    /// What was sent since the last call.
    pub(crate) fn sent(&mut self) -> Vec<Sent> {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let outbox = self.task.outbox();
        let sent = outbox.iter().map(|record| Sent {
            topic: record.topic.to_string(),
            partition: record.partition.map(Partition::get),
            timestamp: record.timestamp.map(Timestamp::as_millis),
            key: owned(record.key),
            value: owned(record.value),
            headers: record
                .headers
                .iter()
                .map(|(name, value)| (name.to_vec(), owned(value)))
                .collect(),
        });
        let sent = sent.collect();
        outbox.clear();
        sent
    }

    /// Commits; gives what a producer and the group would get.
    pub(crate) fn commit(&mut self) -> Option<(Vec<Sent>, TaskCommit)> {
        let commit = self.task.prepare_commit()?;
        self.metadata = Some(commit.metadata.clone());
        let mut attached = self.task.detach();
        for (processor, environment) in self.environments.iter().enumerate() {
            let Some(environment) = environment else { continue };
            let mine = attached
                .iter_mut()
                .filter(|attached| attached.processor == processor);
            let mut buffers: Vec<_> = mine
                .map(|attached| (attached.store, &mut attached.buffer))
                .collect();
            environment
                .commit(&mut buffers, &CommitPoint::default())
                .expect("a commit");
        }
        for attached in attached {
            self.task.attach(attached);
        }
        Some((self.sent(), commit))
    }

    /// Drops the task and builds it anew at the last commit, as after a fall-back. The inputs are empty then.
    pub(crate) fn fall_back(&mut self) {
        let carry = self.task.take_carry();
        self.build_anew(carry);
    }

    /// The same, as another process does it, which has heard of nothing but the last commit.
    pub(crate) fn restart(&mut self) {
        self.build_anew(Carry::default());
    }

    fn build_anew(&mut self, carry: Carry) {
        // The new task's buffers can only be opened when the old ones are closed.
        drop(self.task.detach());
        self.task = Task::new(
            &self.topology,
            &self.factories,
            0,
            PARTITION,
            &self.settings,
            carry,
        );
        self.prepare();
        self.next.fill(0);
        self.start().unwrap_or_else(|failure| panic!("{failure}"));
    }

    /// How many bytes the stores' overlays hold.
    pub(crate) fn overlay_bytes(&mut self) -> usize {
        let mut attached = self.task.detach();
        let bytes = attached
            .iter_mut()
            .map(|attached| attached.buffer.overlay_bytes())
            .sum();
        for attached in attached {
            self.task.attach(attached);
        }
        bytes
    }

    /// A processor of this type.
    pub(crate) fn processor<P: Processor>(&self) -> &P {
        let mut all = (0..self.topology.processors.len()).filter_map(|number| self.task.processor(number));
        all.find_map(|processor| processor.downcast_ref())
            .expect("a processor of this type")
    }

    /// Monotonic time from now until the task wants to run again.
    pub(crate) fn sleep(&self) -> Option<Duration> {
        Some(
            self.task
                .wake_at()?
                .saturating_sub(crate::Clock::now(&self.clock)),
        )
    }
}
