//! Where partitions begin and end.

use std::sync::Arc;

use rdkafka_sys as sys;

use super::{
    super::{
        Call, Client, Code, NativeError, PartitionList, Queue,
        list::{self, Entry},
    },
    Options, elements, no_answer,
};
use crate::{
    cluster::Result,
    record::{Offset, TopicPartition},
};

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
) -> Result<Call<Offset>> {
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
        told(entries.into_iter().next().ok_or_else(no_answer)?)
    }))
}

/// What was told of a partition. When the connection is lost before a broker has answered, librdkafka (2.12) tells of no
/// error, and leaves the place open. Taken for 0, that would be the end of an empty partition: a restore would find
/// nothing to be restored.
fn told(entry: Entry) -> std::result::Result<Offset, NativeError> {
    match (entry.error, u64::try_from(entry.offset)) {
        (Some(error), _) => Err(error),
        (None, Ok(offset)) => Ok(Offset::new(offset)),
        (None, Err(_)) => Err(NativeError::with(
            Code::RD_KAFKA_RESP_ERR__TRANSPORT,
            "the connection was lost before the broker had answered".into(),
        )),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Partition;

    #[test]
    fn a_place_that_was_left_open_is_no_place() {
        let entry = |offset: i64, error: Option<NativeError>| Entry {
            partition: TopicPartition::new("keys", Partition::new(0)),
            offset,
            metadata: String::new(),
            error,
        };
        for offset in [0, 7] {
            assert_eq!(told(entry(offset, None)).unwrap().get(), offset as u64);
        }
        for open in [-1, i64::from(sys::RD_KAFKA_OFFSET_INVALID)] {
            let error = told(entry(open, None)).unwrap_err();
            assert_eq!(error.code, Code::RD_KAFKA_RESP_ERR__TRANSPORT, "{open}");
        }
        let moved = NativeError::with(Code::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, String::new());
        let error = told(entry(-1, Some(moved))).unwrap_err();
        assert_eq!(error.code, Code::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    }
}
