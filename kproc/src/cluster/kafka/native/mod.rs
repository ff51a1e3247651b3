//! librdkafka, made safe: the only place that names `rdkafka_sys`, and the only one with `unsafe`.
//!
//! What may be here: owners of librdkafka's objects, each call that is needed, and the reason why it is sound. What
//! may not: decisions. Nothing here retries, remembers or logs.
//!
//! Why not the `rdkafka` crate: its consumer leaves the group when it is dropped, where a drop has to be what a
//! crash looks like; it hides the queues that batches are read from; its flush and commit take 100 ms each; and it
//! panics on header names that are not UTF-8.

mod admin;
mod call;
mod client;
mod conf;
mod ear;
mod error;
mod group;
mod list;
mod messages;
mod produce;
mod queue;
mod refusal;
mod sockets;

pub(super) use admin::{
    GroupInfo, GroupOffset, Make, OffsetSpec, Resource, alter_config, alter_group_offsets, cluster_access,
    create_topics, delete_group_offsets, delete_records, delete_topics, describe_config, describe_group,
    describe_topics, group_offsets, list_offset,
};
pub(super) use call::Call;
pub(super) use client::{Client, Kind};
pub(super) use conf::{Conf, Refused, features, property_names};
pub(super) use ear::Listener;
pub(super) use error::{Code, NativeError};
pub(super) use group::{GroupMetadata, RebalanceKind, commit, committed};
pub(super) use list::PartitionList;
pub(super) use messages::{Found, take_batch};
pub(super) use produce::{TopicHandle, Transaction};
pub(super) use queue::{Event, EventKind, Queue};

use std::ffi::{CStr, CString, c_char};

use crate::cluster::{ClusterError, ClusterErrorKind, Result};

/// Text for a call. Fails if it has a zero byte in it, which librdkafka could not see beyond.
fn text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        ClusterError::new(
            ClusterErrorKind::Fatal,
            format_args!("{text:?} has a zero byte in it, which no name in Kafka can have"),
        )
    })
}

/// Text of librdkafka's, copied. A null pointer is an empty text.
///
/// # Safety
/// `text` is null, or points to a text that ends with a zero byte.
unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
