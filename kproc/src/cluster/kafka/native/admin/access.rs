//! What the client may do.

use std::sync::Arc;

use rdkafka_sys as sys;
use sys::rd_kafka_AclOperation_t as Native;

use super::{
    super::{Call, Client, Queue},
    Options,
};
use crate::cluster::{Operation, Operations};

/// What the client may do with the cluster as a whole; `None` if the broker does not say.
pub(in crate::cluster::kafka) fn cluster_access(client: &Arc<Client>) -> Call<Option<Operations>> {
    let options = Options::new(
        client,
        sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER,
    );
    options.include_operations();
    let send = |queue: &Queue| {
        // SAFETY: all are alive for the call, which copies them.
        unsafe { sys::rd_kafka_DescribeCluster(client.ptr(), options.0, queue.ptr()) };
    };
    Call::send(client, send, |event| {
        let mut count = 0;
        // SAFETY: the event is alive and of this kind; its result lives as long as it does.
        unsafe {
            let result = sys::rd_kafka_event_DescribeCluster_result(event.ptr());
            let allowed = sys::rd_kafka_DescribeCluster_result_authorized_operations(result, &raw mut count);
            // Whoever may not describe the cluster is told nothing of the rest.
            Ok(operations(allowed, count).filter(|allowed| !allowed.is_empty()))
        }
    })
}

/// What is in a list of operations; null is none.
///
/// # Safety
/// `list` is null or has `count` elements that live.
pub(super) unsafe fn operations(list: *const Native, count: usize) -> Option<Operations> {
    if list.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let list = unsafe { std::slice::from_raw_parts(list, count) };
    Some(list.iter().filter_map(|operation| known(*operation)).collect())
}

fn known(operation: Native) -> Option<Operation> {
    Some(match operation {
        Native::RD_KAFKA_ACL_OPERATION_READ => Operation::Read,
        Native::RD_KAFKA_ACL_OPERATION_WRITE => Operation::Write,
        Native::RD_KAFKA_ACL_OPERATION_CREATE => Operation::Create,
        Native::RD_KAFKA_ACL_OPERATION_DELETE => Operation::Delete,
        Native::RD_KAFKA_ACL_OPERATION_ALTER => Operation::Alter,
        Native::RD_KAFKA_ACL_OPERATION_DESCRIBE => Operation::Describe,
        Native::RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS => Operation::DescribeConfigs,
        Native::RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS => Operation::AlterConfigs,
        Native::RD_KAFKA_ACL_OPERATION_IDEMPOTENT_WRITE => Operation::IdempotentWrite,
        _ => return None,
    })
}
