//! Where partitions begin and end.

use std::sync::Arc;

use rdkafka_sys as sys;

use super::{
    super::{
        Call, Client, NativeError, PartitionList, Queue,
        list::{self, Entry},
    },
    Options, elements, no_answer,
};
use crate::{cluster::Result, record::TopicPartition};

/// What is asked of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster::kafka) enum OffsetSpec {
    Earliest,
    /// The last stable offset.
    Stable,
    /// The high watermark.
    Latest,
}

/// Where partitions begin or end.
pub(in crate::cluster::kafka) fn list_offset(
    client: &Arc<Client>,
    place: &TopicPartition,
    spec: OffsetSpec,
) -> Result<Call<i64>> {
    let offset = match spec {
        OffsetSpec::Earliest => PartitionList::BEGINNING,
        OffsetSpec::Stable | OffsetSpec::Latest => PartitionList::END,
    };
    let isolation = match spec {
        OffsetSpec::Stable => sys::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED,
        _ => sys::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED,
    };
    let places = PartitionList::of([(place, offset)])?;
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTOFFSETS);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let refused = sys::rd_kafka_AdminOptions_set_isolation_level(options.0, isolation);
            let _always_taken = NativeError::take(refused);
            sys::rd_kafka_ListOffsets(client.ptr(), places.ptr(), options.0, queue.ptr());
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        let entries = unsafe {
            let result = sys::rd_kafka_event_ListOffsets_result(event.ptr());
            let infos = sys::rd_kafka_ListOffsets_result_infos(result, &raw mut count);
            elements(infos, count)
                .iter()
                .map(|info| list::copied(&*sys::rd_kafka_ListOffsetsResultInfo_topic_partition(*info)))
                .collect::<Vec<_>>()
        };
        let entry = entries.into_iter().next().ok_or_else(no_answer)?;
        match entry.error {
            Some(error) => Err(error),
            None => Ok(entry.offset),
        }
    }))
}

/// Deletes the records before these offsets.
pub(in crate::cluster::kafka) fn delete_records(
    client: &Arc<Client>,
    before: &PartitionList,
) -> Call<Vec<Entry>> {
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DELETERECORDS);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut request = sys::rd_kafka_DeleteRecords_new(before.ptr());
            sys::rd_kafka_DeleteRecords(client.ptr(), &raw mut request, 1, options.0, queue.ptr());
            sys::rd_kafka_DeleteRecords_destroy(request);
        }
    };
    Call::send(client, send, |event| {
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        Ok(unsafe {
            let result = sys::rd_kafka_event_DeleteRecords_result(event.ptr());
            list::entries(sys::rd_kafka_DeleteRecords_result_offsets(result))
        })
    })
}
