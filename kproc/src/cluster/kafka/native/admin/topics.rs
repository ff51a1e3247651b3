//! Topics: made, deleted, described.

use std::{
    ffi::{CString, c_char},
    sync::Arc,
};

use rdkafka_sys as sys;
use uuid::Uuid;

use super::{
    super::{Call, Client, NativeError, Queue, owned, text},
    Options, Outcome,
    access::operations,
    elements,
};
use crate::cluster::{ClusterError, ClusterErrorKind, NewTopic, Operations, Result};

/// A topic, without its settings.
pub(in crate::cluster::kafka) struct TopicInfo {
    pub(in crate::cluster::kafka) id: Uuid,
    pub(in crate::cluster::kafka) partitions: u32,
    /// What this client may do with it; `None` if the broker does not say.
    pub(in crate::cluster::kafka) operations: Option<Operations>,
}

/// Whether topics are really made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster::kafka) enum Make {
    Really,
    /// It is only said what would become of it.
    OnlyTry,
}

/// A topic, or why it cannot be described.
pub(in crate::cluster::kafka) type Described = (String, Outcome<TopicInfo>);

/// Makes topics, with the brokers' own replication.
pub(in crate::cluster::kafka) fn create_topics(
    client: &Arc<Client>,
    topics: &[NewTopic],
    make: Make,
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
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        made.0.push(new);
        for (name, value) in &topic.config {
            let (name, value) = (text(name)?, text(value)?);
            // SAFETY: the topic is alive, and the texts end with zero.
            unsafe { sys::rd_kafka_NewTopic_set_config(new, name.as_ptr(), value.as_ptr()) };
        }
    }
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_CREATETOPICS);
    if make == Make::OnlyTry {
        let mut reason: [c_char; 128] = [0; 128];
        // SAFETY: the options are alive, of a kind that has this one, and the reason is as long as we say.
        unsafe {
            sys::rd_kafka_AdminOptions_set_validate_only(options.0, 1, reason.as_mut_ptr(), reason.len());
        }
    }
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
pub(in crate::cluster::kafka) fn delete_topics(
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
pub(in crate::cluster::kafka) fn describe_topics(
    client: &Arc<Client>,
    topics: &[Arc<str>],
) -> Result<Call<Vec<Described>>> {
    let names = topics
        .iter()
        .map(|topic| text(topic))
        .collect::<Result<Vec<CString>>>()?;
    let options = Options::new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    options.include_operations();
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
            let mut count = 0;
            let allowed = sys::rd_kafka_TopicDescription_authorized_operations(topic, &raw mut count);
            TopicInfo {
                id,
                partitions: partitions as u32,
                operations: operations(allowed, count),
            }
        });
        (name, info)
    }
}
