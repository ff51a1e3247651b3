//! Properties that a client is about to be made of.

use std::{
    ffi::{CStr, CString, c_char},
    ptr::NonNull,
};

use rdkafka_sys as sys;

use super::owned;
use crate::{
    cluster::{ClusterError, ClusterErrorKind, Result},
    config::is_secret,
};

/// Why a property is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Refused {
    /// There is none of this name.
    Unknown,
    /// Its value, or the property in this build of librdkafka. The reason may quote the value.
    Value(String),
}

/// The properties.
pub(in super::super) struct Conf(NonNull<sys::rd_kafka_conf_t>);

impl Conf {
    /// librdkafka's defaults.
    pub(in super::super) fn new() -> Self {
        // SAFETY: no conditions.
        let conf = NonNull::new(unsafe { sys::rd_kafka_conf_new() });
        Self(conf.expect("librdkafka ends the process when it is out of memory"))
    }

    pub(super) fn ptr(&self) -> *mut sys::rd_kafka_conf_t {
        self.0.as_ptr()
    }

    /// Sets a property.
    pub(in super::super) fn set(&self, name: &str, value: &str) -> std::result::Result<(), Refused> {
        let zero = |_| Refused::Value("it has a zero byte in it".into());
        let (name, value) = (
            CString::new(name).map_err(|_| Refused::Unknown)?,
            CString::new(value).map_err(zero)?,
        );
        let mut reason: [c_char; 512] = [0; 512];
        // SAFETY: the configuration is alive, the texts end with zero, and the reason is as long as we say.
        let outcome = unsafe {
            sys::rd_kafka_conf_set(
                self.ptr(),
                name.as_ptr(),
                value.as_ptr(),
                reason.as_mut_ptr(),
                reason.len(),
            )
        };
        match outcome {
            sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK => Ok(()),
            sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_UNKNOWN => Err(Refused::Unknown),
            sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_INVALID => {
                // SAFETY: librdkafka has written a text that ends with zero.
                let reason = unsafe { owned(reason.as_ptr()) };
                Err(Refused::Value(reason))
            }
        }
    }

    /// Sets a property that was tried before.
    pub(super) fn insist(&self, name: &str, value: &str) -> Result<()> {
        let reason = match self.set(name, value) {
            Ok(()) => return Ok(()),
            Err(Refused::Unknown) => "librdkafka has no such property".to_owned(),
            Err(Refused::Value(_)) if is_secret(name) => "librdkafka does not take its value".to_owned(),
            Err(Refused::Value(reason)) => reason,
        };
        let message = format_args!("property `{name}`: {reason}");
        Err(ClusterError::new(ClusterErrorKind::Fatal, message))
    }

    /// The value of a property.
    fn get(&self, name: &CStr) -> Option<String> {
        let mut value: [c_char; 512] = [0; 512];
        let mut size = value.len();
        // SAFETY: the configuration is alive, the name ends with zero, and the text is as long as we say.
        let found =
            unsafe { sys::rd_kafka_conf_get(self.ptr(), name.as_ptr(), value.as_mut_ptr(), &raw mut size) };
        (found == sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK).then(|| {
            // SAFETY: librdkafka has written a text that ends with zero.
            unsafe { owned(value.as_ptr()) }
        })
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: it was not given to a client, which forgets it.
        unsafe { sys::rd_kafka_conf_destroy(self.ptr()) };
    }
}

/// What this build of librdkafka can do: `gzip`, `ssl`, `sasl_scram`, `zstd` and so on.
pub(in super::super) fn features() -> Vec<String> {
    let features = Conf::new().get(c"builtin.features").unwrap_or_default();
    features
        .split(',')
        .map(|feature| feature.trim().to_owned())
        .collect()
}

/// The names of all properties, without their aliases.
pub(in super::super) fn property_names() -> Vec<String> {
    let mut names = Vec::new();
    let mut count = 0;
    let mut take = |list: *mut *const c_char, count: usize| {
        // SAFETY: librdkafka has given a list of so many texts, by turns names and values, which is freed once.
        unsafe {
            names.extend((0..count).step_by(2).map(|at| owned(*list.add(at))));
            sys::rd_kafka_conf_dump_free(list, count);
        }
    };
    let conf = Conf::new();
    // SAFETY: the configuration is alive; the list is ours.
    let list = unsafe { sys::rd_kafka_conf_dump(conf.ptr(), &raw mut count) };
    take(list, count);
    // SAFETY: the topic's configuration is alive until it is destroyed, once; the list is ours.
    unsafe {
        let topic = sys::rd_kafka_topic_conf_new();
        let list = sys::rd_kafka_topic_conf_dump(topic, &raw mut count);
        take(list, count);
        sys::rd_kafka_topic_conf_destroy(topic);
    }
    names.sort();
    names.dedup();
    names
}
