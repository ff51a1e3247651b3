//! Settings of topics, groups and brokers.

use std::sync::Arc;

use rdkafka_sys as sys;

use super::{
    super::{Call, Client, NativeError, Queue, owned, text},
    Options, Outcome, elements, no_answer,
};
use crate::cluster::Result;

/// What has settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster::kafka) enum Resource {
    Topic,
    Group,
    Broker,
}

impl Resource {
    fn native(self) -> sys::rd_kafka_ResourceType_t {
        match self {
            Self::Topic => sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC,
            Self::Group => sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_GROUP,
            Self::Broker => sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_BROKER,
        }
    }
}

/// The settings of a topic, a group or a broker (by its id), defaults included.
pub(in crate::cluster::kafka) fn describe_config(
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
pub(in crate::cluster::kafka) fn alter_config(
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
