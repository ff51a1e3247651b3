//! Committed offsets of groups, and their members.

use std::{ptr::null, sync::Arc};

use rdkafka_sys as sys;

use super::{
    super::{
        Call, Client, NativeError, PartitionList, Queue,
        list::{self, Entry},
        owned, text,
    },
    Options, Outcome,
    access::operations,
    elements, no_answer,
};
use crate::cluster::{MemberDescription, Operations, Result};

/// A committed offset of a group.
pub(in crate::cluster::kafka) type GroupOffset = Entry;

/// # Safety
/// The results live.
unsafe fn group_partitions(results: &[*const sys::rd_kafka_group_result_t]) -> Outcome<Vec<Entry>> {
    let result = *results.first().ok_or_else(no_answer)?;
    // SAFETY: by the caller's promise.
    unsafe {
        NativeError::look(sys::rd_kafka_group_result_error(result))?;
        Ok(list::entries(sys::rd_kafka_group_result_partitions(result)))
    }
}

/// The committed offsets of a group: of these partitions, or all. What a transaction has that is not decided does not count
/// yet.
pub(in crate::cluster::kafka) fn group_offsets(
    client: &Arc<Client>,
    group: &str,
    places: Option<&PartitionList>,
) -> Result<Call<Vec<GroupOffset>>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS;
    let options = Options::of_coordinator(client, operation);
    let send = |queue: &Queue| {
        let places = places.map_or(null(), |places| places.ptr().cast_const());
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut request = sys::rd_kafka_ListConsumerGroupOffsets_new(group.as_ptr(), places);
            sys::rd_kafka_ListConsumerGroupOffsets(client.ptr(), &raw mut request, 1, options.0, queue.ptr());
            sys::rd_kafka_ListConsumerGroupOffsets_destroy(request);
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_ListConsumerGroupOffsets_result(event.ptr());
            let groups = sys::rd_kafka_ListConsumerGroupOffsets_result_groups(result, &raw mut count);
            group_partitions(elements(groups, count))
        }
    }))
}

/// Sets committed offsets of a group without members.
pub(in crate::cluster::kafka) fn alter_group_offsets(
    client: &Arc<Client>,
    group: &str,
    offsets: &PartitionList,
) -> Result<Call<Vec<GroupOffset>>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS;
    let options = Options::of_coordinator(client, operation);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut request = sys::rd_kafka_AlterConsumerGroupOffsets_new(group.as_ptr(), offsets.ptr());
            sys::rd_kafka_AlterConsumerGroupOffsets(
                client.ptr(),
                &raw mut request,
                1,
                options.0,
                queue.ptr(),
            );
            sys::rd_kafka_AlterConsumerGroupOffsets_destroy(request);
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_AlterConsumerGroupOffsets_result(event.ptr());
            let groups = sys::rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &raw mut count);
            group_partitions(elements(groups, count))
        }
    }))
}

/// Deletes committed offsets of a group.
pub(in crate::cluster::kafka) fn delete_group_offsets(
    client: &Arc<Client>,
    group: &str,
    places: &PartitionList,
) -> Result<Call<Vec<GroupOffset>>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS;
    let options = Options::of_coordinator(client, operation);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut request = sys::rd_kafka_DeleteConsumerGroupOffsets_new(group.as_ptr(), places.ptr());
            sys::rd_kafka_DeleteConsumerGroupOffsets(
                client.ptr(),
                &raw mut request,
                1,
                options.0,
                queue.ptr(),
            );
            sys::rd_kafka_DeleteConsumerGroupOffsets_destroy(request);
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_DeleteConsumerGroupOffsets_result(event.ptr());
            let groups = sys::rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, &raw mut count);
            group_partitions(elements(groups, count))
        }
    }))
}

/// A group, as its coordinator describes it.
pub(in crate::cluster::kafka) struct GroupInfo {
    pub(in crate::cluster::kafka) members: Vec<MemberDescription>,
    /// What this client may do with it; `None` if the broker does not say.
    pub(in crate::cluster::kafka) operations: Option<Operations>,
}

/// Describes a group. One that does not exist is an error or has no members, depending on the broker.
pub(in crate::cluster::kafka) fn describe_group(
    client: &Arc<Client>,
    group: &str,
) -> Result<Call<GroupInfo>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS;
    let options = Options::of_coordinator(client, operation);
    options.include_operations();
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut names = [group.as_ptr()];
            sys::rd_kafka_DescribeConsumerGroups(client.ptr(), names.as_mut_ptr(), 1, options.0, queue.ptr());
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result, with all that is in it, lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_DescribeConsumerGroups_result(event.ptr());
            let groups = sys::rd_kafka_DescribeConsumerGroups_result_groups(result, &raw mut count);
            let group = *elements(groups, count).first().ok_or_else(no_answer)?;
            NativeError::look(sys::rd_kafka_ConsumerGroupDescription_error(group))?;
            let member = |number| {
                let member = sys::rd_kafka_ConsumerGroupDescription_member(group, number);
                MemberDescription {
                    client_id: owned(sys::rd_kafka_MemberDescription_client_id(member)),
                    host: owned(sys::rd_kafka_MemberDescription_host(member)),
                }
            };
            let members = sys::rd_kafka_ConsumerGroupDescription_member_count(group);
            let allowed = sys::rd_kafka_ConsumerGroupDescription_authorized_operations(group, &raw mut count);
            Ok(GroupInfo {
                members: (0..members).map(member).collect(),
                operations: operations(allowed, count),
            })
        }
    }))
}
