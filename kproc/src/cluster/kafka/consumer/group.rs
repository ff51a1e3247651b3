//! The group's verbs, on behalf of one member.

use std::{any::Any, collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    super::{
        answer::answer,
        client_thread::{Answer, ClientThread},
        error::{failed, forbidden},
        native::{Client, GroupOffset, NativeError, PartitionList, commit, committed},
        verdicts::Step,
    },
    membership::Membership,
};
use crate::{
    clock::{BoxFuture, Clock},
    cluster::{
        ClusterError, ClusterErrorKind, CommittedOffset, Group, OffsetCommit, Operation, Resource, Result,
    },
    record::{Offset, TopicPartition},
};

/// How long [`Group::committed`] waits for offsets to be stable.
const STABLE_WAIT: Duration = Duration::from_secs(5);

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How long it waits before it asks again.
const STABLE_PAUSE: Duration = Duration::from_millis(20);

/// A group, as one of its members sees it.
pub(in super::super) struct KafkaGroup {
    name: String,
    pub(in super::super) membership: Arc<Membership>,
    clock: Arc<dyn Clock>,
}

impl KafkaGroup {
    pub(super) fn new(name: String, membership: Arc<Membership>, clock: Arc<dyn Clock>) -> Self {
        Self {
            name,
            membership,
            clock,
        }
    }
}

impl Group for KafkaGroup {
    fn committed(
        &self,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<'static, Result<Vec<Option<CommittedOffset>>>> {
        let (client, clock, name) = (self.membership.client(), self.clock.clone(), self.name.clone());
        let first = ask(&client, &name, &partitions);
        Box::pin(async move {
            let deadline = clock.now() + STABLE_WAIT;
            let mut call = first?;
            loop {
                match call.await.and_then(|found| in_order(&name, &partitions, found)) {
                    Err(error) if error.kind == ClusterErrorKind::Retriable && clock.now() < deadline => {
                        clock.sleep_until(clock.now() + STABLE_PAUSE).await;
                        call = ask(&client, &name, &partitions)?;
                    }
                    outcome => return outcome,
                }
            }
        })
    }

    fn commit(&self, offsets: Vec<OffsetCommit>) -> BoxFuture<'static, Result<()>> {
        let sent = self.membership.while_owned(&offsets, |client| {
            let list = list_of(&offsets)?;
            Ok(commit(client, &list))
        });
        let (clock, name) = (self.clock.clone(), self.name.clone());
        Box::pin(async move {
            let refused = |error: &NativeError| {
                let (what, group) = (
                    format!("committing offsets of group `{name}`"),
                    Resource::Group(name.as_str().into()),
                );
                forbidden(Step::OffsetCommit, what, error, None, &group, Operation::Read)
            };
            let entries = answer(sent?, &*clock).await.map_err(|error| refused(&error))?;
            match entries.into_iter().find_map(|entry| entry.error) {
                None => Ok(()),
                Some(error) => Err(refused(&error)),
            }
        })
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

/// Offsets, as librdkafka takes them.
pub(in super::super) fn list_of(offsets: &[OffsetCommit]) -> Result<PartitionList> {
    let mut list = PartitionList::new();
    for offset in offsets {
        list.add(&offset.partition, offset.next.get() as i64, &offset.metadata)?;
    }
    Ok(list)
}

/// Asks for committed offsets, on a thread of its own: what one waits for must not hold up others.
///
/// Not by a request of administration, which would not block: librdkafka (2.12) looks for the coordinator of each of
/// those by itself, and one that is still under way when a broker is replaced keeps the whole client from connecting to any.
fn ask(client: &Arc<Client>, group: &str, places: &[TopicPartition]) -> Result<Answer<Vec<GroupOffset>>> {
    let list = PartitionList::of(places.iter().map(|place| (place, 0)))?;
    let (client, group) = (client.clone(), group.to_owned());
    Ok(ClientThread::start("kproc-kafka-ask")?.call(move || {
        committed(&client, &list, ANSWER.as_millis() as i32)
            .map_err(|error| failed(format_args!("committed offsets of group `{group}`"), &error))
    }))
}

/// One answer for each place.
fn in_order(
    group: &str,
    places: &[TopicPartition],
    found: Vec<GroupOffset>,
) -> Result<Vec<Option<CommittedOffset>>> {
    let mut by_place = BTreeMap::new();
    for entry in found {
        if let Some(error) = &entry.error {
            let what = format_args!("committed offset of group `{group}` for {}", entry.partition);
            return Err(failed(what, error));
        }
        by_place.insert(entry.partition.clone(), entry);
    }
    let answer = |place| {
        let Some(entry) = by_place.remove(place) else {
            let message = format_args!("the broker says nothing of group `{group}`'s offset for {place}");
            return Err(ClusterError::new(ClusterErrorKind::Retriable, message));
        };
        Ok(committed_offset(entry))
    };
    places.iter().map(answer).collect()
}

/// A negative offset is none.
pub(in super::super) fn committed_offset(entry: GroupOffset) -> Option<CommittedOffset> {
    let next = Offset::new(u64::try_from(entry.offset).ok()?);
    Some(CommittedOffset {
        next,
        metadata: entry.metadata,
    })
}
