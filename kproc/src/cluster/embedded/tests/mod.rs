//! What only the embedded cluster does: severed links, and promises of its own. Here: the world of these tests.

mod group_model;
mod links;
mod log_model;
mod verbs;

use std::{collections::BTreeSet, future::poll_fn, sync::Arc, task::Poll, time::Duration};

use super::{EmbeddedCluster, EmbeddedConnection, EmbeddedOptions};
use crate::{
    Clock, Offset, Partition, Timestamp, TopicPartition,
    cluster::{
        Assignment, Cluster, ClusterErrorKind, Event, Isolation, JoinRequest, Member, NewTopic, OffsetCommit,
        Ownership, ProducerOptions, Result, SeekTo,
    },
    outbox::{Outbox, RawRecord},
    testing::exec::Executor,
};

const SESSION: Duration = Duration::from_secs(1);

/// A cluster in virtual time, with a topic `t`.
struct World {
    executor: Executor,
    cluster: EmbeddedCluster,
}

impl World {
    fn new(seed: u64, partitions: u32) -> Self {
        let executor = Executor::new(seed);
        let options = EmbeddedOptions {
            auto_create: None,
            ..EmbeddedOptions::default()
        };
        let cluster = EmbeddedCluster::new(Arc::new(executor.clock().clone()), options);
        let mut world = Self { executor, cluster };
        world.create("t", partitions, &[]).unwrap();
        world
    }

    fn create(&mut self, name: &str, partitions: u32, config: &[(&str, &str)]) -> Result<()> {
        let config = config
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let mut admin = self.cluster.connect().admin().unwrap();
        let new = NewTopic {
            name: name.into(),
            partitions,
            config,
        };
        self.run(admin.create(vec![new])).unwrap().remove(0)
    }

    fn run<T>(&mut self, future: impl Future<Output = T>) -> T {
        self.executor.run_until(future).expect("it comes to an end")
    }

    fn now(&self) -> Duration {
        self.executor.clock().now()
    }

    fn join(&self) -> (Arc<EmbeddedConnection>, Box<dyn Member>) {
        let connection = self.cluster.connect();
        let request = JoinRequest {
            group: "g".into(),
            topics: vec!["t".into()],
            session_timeout: SESSION,
            heartbeat_interval: None,
            revoke_timeout: Duration::from_secs(60),
            isolation: Isolation::ReadCommitted,
            read_ahead: None,
            client_id: String::new(),
        };
        let member = connection.join(request).unwrap();
        (connection, member)
    }

    fn assigned(&mut self, member: &mut Box<dyn Member>) -> Vec<Assignment> {
        match self.run(member.next_event()) {
            Event::Assigned(assignments) => assignments,
            _ => panic!("not an assignment"),
        }
    }

    fn lost(&mut self, member: &mut Box<dyn Member>) -> Vec<(TopicPartition, Ownership)> {
        match self.run(member.next_event()) {
            Event::Lost(lost) => lost,
            _ => panic!("not a loss"),
        }
    }

    fn committed(&mut self) -> Option<u64> {
        let mut admin = self.cluster.connect().admin().unwrap();
        let offsets = self.run(admin.group_offsets("g".into())).unwrap();
        offsets.first().map(|(_, offset)| offset.next.get())
    }
}

fn place(number: u32) -> TopicPartition {
    TopicPartition::new("t", Partition::new(number))
}

fn offset(assignment: &Assignment, next: u64) -> OffsetCommit {
    let (partition, ownership) = (assignment.partition.clone(), assignment.ownership);
    OffsetCommit {
        partition,
        ownership,
        next: Offset::new(next),
        metadata: String::new(),
    }
}

fn one(value: &str) -> Outbox {
    let mut outbox = Outbox::default();
    outbox.push_raw(
        &"t".into(),
        &RawRecord {
            value: Some(value.as_bytes()),
            ..RawRecord::default()
        },
    );
    outbox
}
