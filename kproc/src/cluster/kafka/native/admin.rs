//! Requests of administration. Each is on its way when the function returns.

use std::{
    ffi::{CString, c_char},
    ptr::null,
    sync::Arc,
    time::Duration,
};

use rdkafka_sys as sys;
use uuid::Uuid;

use super::{
    Call, Client, NativeError, PartitionList, Queue,
    error::Code,
    list::{self, Entry},
    owned, text,
};
use crate::{
    cluster::{NewTopic, Result},
    record::TopicPartition,
};

/// How long a broker may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What is asked of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum OffsetSpec {
    Earliest,
    /// The last stable offset.
    Stable,
    /// The high watermark.
    Latest,
}

/// A topic, without its settings.
pub(in super::super) struct TopicInfo {
    pub(in super::super) id: Uuid,
    pub(in super::super) partitions: u32,
}

/// A committed offset of a group.
pub(in super::super) type GroupOffset = Entry;

/// A topic, or why it cannot be described.
pub(in super::super) type Described = (String, Outcome<TopicInfo>);

type Outcome<T> = std::result::Result<T, NativeError>;

/// Options of one request.
struct Options(*mut sys::rd_kafka_AdminOptions_t);

impl Options {
    fn new(client: &Client, operation: sys::rd_kafka_admin_op_t) -> Self {
        let mut reason: [c_char; 128] = [0; 128];
        // SAFETY: the client is alive, and the text as long as we say. The time-out is one that is taken.
        unsafe {
            let options = sys::rd_kafka_AdminOptions_new(client.ptr(), operation);
            sys::rd_kafka_AdminOptions_set_request_timeout(
                options,
                REQUEST_TIMEOUT.as_millis() as i32,
                reason.as_mut_ptr(),
                reason.len(),
            );
            Self(options)
        }
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: the options are ours; requests copy them.
        unsafe { sys::rd_kafka_AdminOptions_destroy(self.0) };
    }
}

/// The elements of a result.
///
/// # Safety
/// `list` has `count` elements and lives for as long as they are used.
unsafe fn elements<'l, T>(list: *mut *const T, count: usize) -> &'l [*const T] {
    if list.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts(list, count) }
}

/// Where partitions begin or end.
pub(in super::super) fn list_offset(
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

fn no_answer() -> NativeError {
    NativeError::with(
        Code::RD_KAFKA_RESP_ERR__BAD_MSG,
        "the broker's answer lacks what was asked for".into(),
    )
}

/// Makes topics, with the brokers' own replication.
pub(in super::super) fn create_topics(
    client: &Arc<Client>,
    topics: &[NewTopic],
) -> Result<Call<Vec<Outcome<()>>>> {
    let mut made = Made(Vec::new());
    for topic in topics {
        let name = text(&topic.name)?;
        let mut reason: [c_char; 256] = [0; 256];
        // SAFETY: the texts end with zero, and the reason is as long as we say.
        let new = unsafe {
            sys::rd_kafka_NewTopic_new(
                name.as_ptr(),
                topic.partitions as i32,
                -1,
                reason.as_mut_ptr(),
                reason.len(),
            )
        };
        if new.is_null() {
            // SAFETY: librdkafka has written a text that ends with zero.
            let reason = unsafe { owned(reason.as_ptr()) };
            let message = format_args!("topic `{}` cannot be made: {reason}", topic.name);
            return Err(crate::cluster::ClusterError::new(
                crate::cluster::ClusterErrorKind::Fatal,
                message,
            ));
        }
        made.0.push(new);
        for (name, value) in &topic.config {
            let (name, value) = (text(name)?, text(value)?);
            // SAFETY: the topic is alive, and the texts end with zero.
            unsafe { sys::rd_kafka_NewTopic_set_config(new, name.as_ptr(), value.as_ptr()) };
        }
    }
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_CREATETOPICS);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            sys::rd_kafka_CreateTopics(
                client.ptr(),
                made.0.as_mut_ptr(),
                made.0.len(),
                options.0,
                queue.ptr(),
            );
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        Ok(unsafe {
            let result = sys::rd_kafka_event_CreateTopics_result(event.ptr());
            let topics = sys::rd_kafka_CreateTopics_result_topics(result, &raw mut count);
            topic_results(elements(topics, count))
        })
    }))
}

struct Made(Vec<*mut sys::rd_kafka_NewTopic_t>);

impl Drop for Made {
    fn drop(&mut self) {
        for topic in &self.0 {
            // SAFETY: it is ours.
            unsafe { sys::rd_kafka_NewTopic_destroy(*topic) };
        }
    }
}

/// # Safety
/// The results live.
unsafe fn topic_results(results: &[*const sys::rd_kafka_topic_result_t]) -> Vec<Outcome<()>> {
    let outcome = |result: &*const sys::rd_kafka_topic_result_t| {
        // SAFETY: by the caller's promise.
        let (code, text) = unsafe {
            (
                sys::rd_kafka_topic_result_error(*result),
                owned(sys::rd_kafka_topic_result_error_string(*result)),
            )
        };
        NativeError::check(code).map_err(|error| {
            if text.is_empty() {
                error
            } else {
                NativeError::with(code, text)
            }
        })
    };
    results.iter().map(outcome).collect()
}

/// Deletes topics.
pub(in super::super) fn delete_topics(
    client: &Arc<Client>,
    topics: &[Arc<str>],
) -> Result<Call<Vec<Outcome<()>>>> {
    let names = topics
        .iter()
        .map(|topic| text(topic))
        .collect::<Result<Vec<_>>>()?;
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DELETETOPICS);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them; what was made for it is destroyed after it.
        unsafe {
            let mut deleted: Vec<_> = names
                .iter()
                .map(|name| sys::rd_kafka_DeleteTopic_new(name.as_ptr()))
                .collect();
            sys::rd_kafka_DeleteTopics(
                client.ptr(),
                deleted.as_mut_ptr(),
                deleted.len(),
                options.0,
                queue.ptr(),
            );
            for topic in deleted {
                sys::rd_kafka_DeleteTopic_destroy(topic);
            }
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        Ok(unsafe {
            let result = sys::rd_kafka_event_DeleteTopics_result(event.ptr());
            let topics = sys::rd_kafka_DeleteTopics_result_topics(result, &raw mut count);
            topic_results(elements(topics, count))
        })
    }))
}

/// Describes topics, in the order of their names in the answer.
pub(in super::super) fn describe_topics(
    client: &Arc<Client>,
    topics: &[Arc<str>],
) -> Result<Call<Vec<Described>>> {
    let names = topics
        .iter()
        .map(|topic| text(topic))
        .collect::<Result<Vec<CString>>>()?;
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    let send = |queue: &Queue| {
        let mut pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let topics = sys::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
            sys::rd_kafka_DescribeTopics(client.ptr(), topics, options.0, queue.ptr());
            sys::rd_kafka_TopicCollection_destroy(topics);
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        Ok(unsafe {
            let result = sys::rd_kafka_event_DescribeTopics_result(event.ptr());
            let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
            elements(topics, count)
                .iter()
                .map(|topic| described(*topic))
                .collect()
        })
    }))
}

/// # Safety
/// `topic` is a description that lives.
unsafe fn described(topic: *const sys::rd_kafka_TopicDescription_t) -> Described {
    // SAFETY: by the caller's promise.
    unsafe {
        let name = owned(sys::rd_kafka_TopicDescription_name(topic));
        let info = NativeError::look(sys::rd_kafka_TopicDescription_error(topic)).map(|()| {
            let mut partitions = 0;
            sys::rd_kafka_TopicDescription_partitions(topic, &raw mut partitions);
            let id = sys::rd_kafka_TopicDescription_topic_id(topic);
            let id = Uuid::from_u64_pair(
                sys::rd_kafka_Uuid_most_significant_bits(id) as u64,
                sys::rd_kafka_Uuid_least_significant_bits(id) as u64,
            );
            TopicInfo {
                id,
                partitions: partitions as u32,
            }
        });
        (name, info)
    }
}

/// What has settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Resource {
    Topic,
    Group,
}

impl Resource {
    fn native(self) -> sys::rd_kafka_ResourceType_t {
        match self {
            Self::Topic => sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC,
            Self::Group => sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_GROUP,
        }
    }
}

/// The settings of a topic or a group, defaults included.
pub(in super::super) fn describe_config(
    client: &Arc<Client>,
    resource: Resource,
    name: &str,
) -> Result<Call<Vec<(String, String)>>> {
    let name = text(name)?;
    let options = Options::new(
        client,
        sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS,
    );
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut resource = sys::rd_kafka_ConfigResource_new(resource.native(), name.as_ptr());
            sys::rd_kafka_DescribeConfigs(client.ptr(), &raw mut resource, 1, options.0, queue.ptr());
            sys::rd_kafka_ConfigResource_destroy(resource);
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_DescribeConfigs_result(event.ptr());
            let resources = sys::rd_kafka_DescribeConfigs_result_resources(result, &raw mut count);
            let resource = *elements(resources, count).first().ok_or_else(no_answer)?;
            resource_error(resource)?;
            let entries = sys::rd_kafka_ConfigResource_configs(resource, &raw mut count);
            let setting = |entry: &*const sys::rd_kafka_ConfigEntry_t| {
                (
                    owned(sys::rd_kafka_ConfigEntry_name(*entry)),
                    owned(sys::rd_kafka_ConfigEntry_value(*entry)),
                )
            };
            Ok(elements(entries, count).iter().map(setting).collect())
        }
    }))
}

/// # Safety
/// `resource` is a result that lives.
unsafe fn resource_error(resource: *const sys::rd_kafka_ConfigResource_t) -> Outcome<()> {
    // SAFETY: by the caller's promise.
    let (code, text) = unsafe {
        (
            sys::rd_kafka_ConfigResource_error(resource),
            owned(sys::rd_kafka_ConfigResource_error_string(resource)),
        )
    };
    NativeError::check(code).map_err(|error| {
        if text.is_empty() {
            error
        } else {
            NativeError::with(code, text)
        }
    })
}

/// Sets settings of a topic or a group; the others stay.
pub(in super::super) fn alter_config(
    client: &Arc<Client>,
    resource: Resource,
    name: &str,
    settings: &[(&str, String)],
) -> Result<Call<()>> {
    let name = text(name)?;
    let mut texts = Vec::new();
    for (name, value) in settings {
        texts.push((text(name)?, text(value)?));
    }
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS;
    let options = Options::new(client, operation);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut resource = sys::rd_kafka_ConfigResource_new(resource.native(), name.as_ptr());
            for (name, value) in &texts {
                let set = sys::rd_kafka_AlterConfigOpType_t::RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET;
                let refused = sys::rd_kafka_ConfigResource_add_incremental_config(
                    resource,
                    name.as_ptr(),
                    set,
                    value.as_ptr(),
                );
                let _always_taken = NativeError::take(refused);
            }
            sys::rd_kafka_IncrementalAlterConfigs(client.ptr(), &raw mut resource, 1, options.0, queue.ptr());
            sys::rd_kafka_ConfigResource_destroy(resource);
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_IncrementalAlterConfigs_result(event.ptr());
            let resources = sys::rd_kafka_IncrementalAlterConfigs_result_resources(result, &raw mut count);
            resource_error(*elements(resources, count).first().ok_or_else(no_answer)?)
        }
    }))
}

/// Deletes the records before these offsets.
pub(in super::super) fn delete_records(client: &Arc<Client>, before: &PartitionList) -> Call<Vec<Entry>> {
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

/// The committed offsets of a group: of these partitions, or all. Those that are not yet stable are errors.
pub(in super::super) fn group_offsets(
    client: &Arc<Client>,
    group: &str,
    places: Option<&PartitionList>,
) -> Result<Call<Vec<GroupOffset>>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS;
    let options = Options::new(client, operation);
    let send = |queue: &Queue| {
        let places = places.map_or(null(), |places| places.ptr().cast_const());
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let refused = sys::rd_kafka_AdminOptions_set_require_stable_offsets(options.0, 1);
            let _always_taken = NativeError::take(refused);
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
pub(in super::super) fn alter_group_offsets(
    client: &Arc<Client>,
    group: &str,
    offsets: &PartitionList,
) -> Result<Call<Vec<GroupOffset>>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS;
    let options = Options::new(client, operation);
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
pub(in super::super) fn delete_group_offsets(
    client: &Arc<Client>,
    group: &str,
    places: &PartitionList,
) -> Result<Call<Vec<GroupOffset>>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS;
    let options = Options::new(client, operation);
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

/// How many members a group has.
pub(in super::super) fn count_members(client: &Arc<Client>, group: &str) -> Result<Call<usize>> {
    let group = text(group)?;
    let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS;
    let options = Options::new(client, operation);
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe {
            let mut names = [group.as_ptr()];
            sys::rd_kafka_DescribeConsumerGroups(client.ptr(), names.as_mut_ptr(), 1, options.0, queue.ptr());
        }
    };
    Ok(Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_DescribeConsumerGroups_result(event.ptr());
            let groups = sys::rd_kafka_DescribeConsumerGroups_result_groups(result, &raw mut count);
            let group = *elements(groups, count).first().ok_or_else(no_answer)?;
            NativeError::look(sys::rd_kafka_ConsumerGroupDescription_error(group))?;
            Ok(sys::rd_kafka_ConsumerGroupDescription_member_count(group))
        }
    }))
}
