//! What a consumer does as a member of a group.

use std::{ffi::CStr, ptr::NonNull, sync::Arc};

use rdkafka_sys as sys;

use super::{
    Call, Client, Event, NativeError, PartitionList, Queue,
    error::Code,
    list::{self, Entry},
    text,
};
use crate::cluster::Result;

type Outcome<T> = std::result::Result<T, NativeError>;

/// What proves a membership: the group, the member, and its epoch or generation.
pub(in super::super) struct GroupMetadata(NonNull<sys::rd_kafka_consumer_group_metadata_t>);

// SAFETY: it is plain data that does not change.
unsafe impl Send for GroupMetadata {}
// SAFETY: as above.
unsafe impl Sync for GroupMetadata {}

impl GroupMetadata {
    /// The present ones of a consumer.
    pub(in super::super) fn of(client: &Client) -> Option<Self> {
        // SAFETY: the client is alive; the metadata are ours.
        NonNull::new(unsafe { sys::rd_kafka_consumer_group_metadata(client.ptr()) }).map(Self)
    }

    pub(super) fn ptr(&self) -> *const sys::rd_kafka_consumer_group_metadata_t {
        self.0.as_ptr()
    }
}

impl Drop for GroupMetadata {
    fn drop(&mut self) {
        // SAFETY: they are ours.
        unsafe { sys::rd_kafka_consumer_group_metadata_destroy(self.0.as_ptr()) };
    }
}

/// What a rebalance does with its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum RebalanceKind {
    Assign,
    Revoke,
}

impl Event {
    /// Which way a rebalance goes; none for other kinds of events.
    pub(in super::super) fn rebalance(&self) -> Option<RebalanceKind> {
        match self.error()?.code {
            Code::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => Some(RebalanceKind::Assign),
            Code::RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS => Some(RebalanceKind::Revoke),
            _ => None,
        }
    }
}

impl Client {
    /// Joins the group, for these topics.
    pub(in super::super) fn subscribe<'t>(
        &self,
        topics: impl Iterator<Item = &'t str>,
    ) -> Result<Outcome<()>> {
        let list = PartitionList::new();
        for topic in topics {
            let topic = text(topic)?;
            // SAFETY: the list is alive, and the text ends with zero.
            unsafe { sys::rd_kafka_topic_partition_list_add(list.ptr(), topic.as_ptr(), -1) };
        }
        // SAFETY: client and list are alive; the list is copied.
        Ok(NativeError::check(unsafe {
            sys::rd_kafka_subscribe(self.ptr(), list.ptr())
        }))
    }

    /// Whether rebalances move single partitions, and not all of them.
    fn is_incremental(&self) -> bool {
        // SAFETY: the client is alive, and the text static.
        unsafe {
            let protocol = sys::rd_kafka_rebalance_protocol(self.ptr());
            !protocol.is_null() && CStr::from_ptr(protocol) == c"COOPERATIVE"
        }
    }

    /// Takes partitions that a rebalance gives.
    pub(in super::super) fn assign(&self, places: &PartitionList) -> Outcome<()> {
        // SAFETY: client and list are alive; the list is copied.
        unsafe {
            if self.is_incremental() {
                NativeError::take(sys::rd_kafka_incremental_assign(self.ptr(), places.ptr()))
            } else {
                NativeError::check(sys::rd_kafka_assign(self.ptr(), places.ptr()))
            }
        }
    }

    /// Gives partitions back that a rebalance wants.
    pub(in super::super) fn unassign(&self, places: &PartitionList) -> Outcome<()> {
        // SAFETY: client and list are alive; the list is copied.
        unsafe {
            if self.is_incremental() {
                NativeError::take(sys::rd_kafka_incremental_unassign(self.ptr(), places.ptr()))
            } else {
                NativeError::check(sys::rd_kafka_assign(self.ptr(), std::ptr::null()))
            }
        }
    }

    /// Begins to read an assigned partition anew, after an error that has stopped it. Fails with the classic
    /// protocol, which has no such call.
    pub(in super::super) fn reassign(&self, place: &PartitionList) -> Outcome<()> {
        // SAFETY: client and list are alive; the list is copied.
        unsafe {
            NativeError::take(sys::rd_kafka_incremental_unassign(self.ptr(), place.ptr()))?;
            NativeError::take(sys::rd_kafka_incremental_assign(self.ptr(), place.ptr()))
        }
    }

    /// Stops fetching these partitions.
    pub(in super::super) fn pause(&self, places: &PartitionList) {
        // SAFETY: client and list are alive. Errors are those of partitions that are not ours any more.
        unsafe { sys::rd_kafka_pause_partitions(self.ptr(), places.ptr()) };
    }

    /// Fetches these partitions again.
    pub(in super::super) fn resume(&self, places: &PartitionList) {
        // SAFETY: as above.
        unsafe { sys::rd_kafka_resume_partitions(self.ptr(), places.ptr()) };
    }

    /// Goes to the offsets in the list, all of one partition. Waits until that has begun.
    pub(in super::super) fn seek(&self, place: &PartitionList, timeout: i32) -> Outcome<()> {
        // SAFETY: client and list are alive. The outcome of each partition is written into the list.
        unsafe { NativeError::take(sys::rd_kafka_seek_partitions(self.ptr(), place.ptr(), timeout))? };
        match place.entries().into_iter().find_map(|entry| entry.error) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Whether the partitions were lost: they may be somebody else's already.
    pub(in super::super) fn is_assignment_lost(&self) -> bool {
        // SAFETY: the client is alive.
        unsafe { sys::rd_kafka_assignment_lost(self.ptr()) != 0 }
    }

    /// First and last offset of a partition, as the last fetch has told. The latter is the high watermark.
    pub(in super::super) fn known_ends(&self, place: &crate::record::TopicPartition) -> Option<(i64, i64)> {
        let topic = text(&place.topic).ok()?;
        let (mut low, mut high) = (-1, -1);
        // SAFETY: the client is alive, and the text ends with zero.
        let code = unsafe {
            sys::rd_kafka_get_watermark_offsets(
                self.ptr(),
                topic.as_ptr(),
                place.partition.get() as i32,
                &raw mut low,
                &raw mut high,
            )
        };
        (code == Code::RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0).then_some((low, high))
    }

    /// The next place after what was taken from the partition's queue, markers of transactions included; none if
    /// nothing was taken since the last seek.
    pub(in super::super) fn position(&self, place: &crate::record::TopicPartition) -> Option<i64> {
        let list = PartitionList::of([(place, 0)]).ok()?;
        // SAFETY: client and list are alive; the position is written into the list.
        let code = unsafe { sys::rd_kafka_position(self.ptr(), list.ptr()) };
        let found = list.entries().into_iter().next()?;
        (code == Code::RD_KAFKA_RESP_ERR_NO_ERROR && found.error.is_none() && found.offset >= 0)
            .then_some(found.offset)
    }

    /// Begins to leave the group: what remains to be done comes as events on this queue.
    pub(in super::super) fn close(&self, queue: &Queue) -> Outcome<()> {
        // SAFETY: client and queue are alive.
        unsafe { NativeError::take(sys::rd_kafka_consumer_close_queue(self.ptr(), queue.ptr())) }
    }

    /// Whether it has left the group.
    pub(in super::super) fn is_closed(&self) -> bool {
        // SAFETY: the client is alive.
        unsafe { sys::rd_kafka_consumer_closed(self.ptr()) != 0 }
    }
}

/// Commits offsets.
pub(in super::super) fn commit(client: &Arc<Client>, offsets: &PartitionList) -> Call<Vec<Entry>> {
    let mut refused = Ok(());
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        let code = unsafe {
            sys::rd_kafka_commit_queue(
                client.ptr(),
                offsets.ptr(),
                queue.ptr(),
                None,
                std::ptr::null_mut(),
            )
        };
        refused = NativeError::check(code);
    };
    let call = Call::send(client, send, |event| {
        // SAFETY: the event is alive, and its list as long as it is.
        Ok(unsafe { list::entries(sys::rd_kafka_event_topic_partition_list(event.ptr())) })
    });
    match refused {
        Ok(()) => call,
        Err(error) => call.failed(error),
    }
}

/// The committed offsets of the group of which the client is a member. Blocks. Offsets that are not yet stable are waited
/// for, too, if the client reads committed records only.
pub(in super::super) fn committed(
    client: &Client,
    places: &PartitionList,
    timeout: i32,
) -> Outcome<Vec<Entry>> {
    // SAFETY: client and list are alive; the answers are written into the list.
    NativeError::check(unsafe { sys::rd_kafka_committed(client.ptr(), places.ptr(), timeout) })?;
    Ok(places.entries())
}
