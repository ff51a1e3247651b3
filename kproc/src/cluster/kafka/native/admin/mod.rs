//! Requests of administration. Each is on its way when the function returns.

mod access;
mod configs;
mod groups;
mod offsets;
mod topics;

pub(in crate::cluster::kafka) use access::cluster_access;
pub(in crate::cluster::kafka) use configs::{Resource, alter_config, describe_config};
pub(in crate::cluster::kafka) use groups::{
    GroupInfo, GroupOffset, alter_group_offsets, delete_group_offsets, describe_group, group_offsets,
};
pub(in crate::cluster::kafka) use offsets::{OffsetSpec, delete_records, list_offset};
pub(in crate::cluster::kafka) use topics::{Make, create_topics, delete_topics, describe_topics};

use std::{ffi::c_char, time::Duration};

use rdkafka_sys as sys;

use super::{Client, NativeError, error::Code};

/// How long a broker may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// As above, of requests to coordinators: the longest time there is. If such a request has timed out while there was no
/// coordinator, librdkafka (2.12) uses what it has freed once there is one again: it ends the process by an
/// assertion (`eonce->refcnt > 0`), or does worse. Who asks has a time-out of his own.
const COORDINATOR_TIMEOUT: Duration = Duration::from_secs(3600);

/// How long, if brokers have refused the client: they may have changed their mind.
const REFUSED_TIMEOUT: Duration = Duration::from_secs(2);

type Outcome<T> = Result<T, NativeError>;

/// Options of one request.
struct Options(*mut sys::rd_kafka_AdminOptions_t);

impl Options {
    fn new(client: &Client, operation: sys::rd_kafka_admin_op_t) -> Self {
        let refused = client.refusal().last().is_some();
        let timeout = if refused { REFUSED_TIMEOUT } else { REQUEST_TIMEOUT };
        Self::with(client, operation, timeout)
    }

    /// Of a request that goes to the coordinator of a group.
    fn of_coordinator(client: &Client, operation: sys::rd_kafka_admin_op_t) -> Self {
        Self::with(client, operation, COORDINATOR_TIMEOUT)
    }

    fn with(client: &Client, operation: sys::rd_kafka_admin_op_t, timeout: Duration) -> Self {
        let mut reason: [c_char; 128] = [0; 128];
        // SAFETY: the client is alive, and the text as long as we say. The time-out is one that is taken.
        unsafe {
            let options = sys::rd_kafka_AdminOptions_new(client.ptr(), operation);
            sys::rd_kafka_AdminOptions_set_request_timeout(
                options,
                timeout.as_millis() as i32,
                reason.as_mut_ptr(),
                reason.len(),
            );
            Self(options)
        }
    }

    /// The answer shall say what the client may do, too.
    fn include_operations(&self) {
        // SAFETY: the options are alive and of a kind that has this one.
        unsafe {
            let refused = sys::rd_kafka_AdminOptions_set_include_authorized_operations(self.0, 1);
            let _always_taken = NativeError::take(refused);
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

fn no_answer() -> NativeError {
    NativeError::with(
        Code::RD_KAFKA_RESP_ERR__BAD_MSG,
        "the broker's answer lacks what was asked for".into(),
    )
}
