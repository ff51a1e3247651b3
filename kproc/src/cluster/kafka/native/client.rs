//! Clients: made of properties, destroyed on a thread of their own.

use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_void},
    ptr::NonNull,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use futures_util::task::AtomicWaker;
use rdkafka_sys as sys;

use super::{
    error::{NO_ERROR, NativeError},
    owned, text,
};
use crate::{
    cluster::{ClusterError, ClusterErrorKind, Result},
    config::is_secret,
    record::TopicPartition,
};

/// What a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// A member of a group, whose queue is polled.
    Member,
    Producer,
    /// Reads and asks, with queues of its own: what it has to say goes to the log.
    Other,
}

/// Takes librdkafka's log lines: level (as in syslog), facility, text. Called on any of its threads.
pub(in super::super) type LogLine = Box<dyn Fn(c_int, &str, &str) + Send + Sync>;

/// A client of a cluster.
///
/// Dropping it ends it without a word to the cluster: a consumer does not leave its group, a producer forgets what
/// it has not yet sent. It is destroyed on a thread of its own, for that takes a while.
pub(in super::super) struct Client {
    rk: NonNull<sys::rd_kafka_t>,
    /// librdkafka points to it until it is destroyed.
    log: Option<Box<LogLine>>,
    /// Who waits for the records of each partition. As above.
    wakers: Mutex<Wakers>,
}

type Wakers = BTreeMap<TopicPartition, Arc<AtomicWaker>>;

// SAFETY: librdkafka's client objects may be used by several threads at once, and destroyed by any.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    /// A new client with these properties.
    pub(in super::super) fn new<'p>(
        kind: Kind,
        properties: impl IntoIterator<Item = (&'p str, &'p str)>,
        log: LogLine,
    ) -> Result<Arc<Self>> {
        let log = Box::new(log);
        let conf = Conf::new();
        for (name, value) in properties {
            conf.set(name, value)?;
        }
        let (native_kind, events) = match kind {
            Kind::Member => (
                sys::rd_kafka_type_t::RD_KAFKA_CONSUMER,
                sys::RD_KAFKA_EVENT_REBALANCE | sys::RD_KAFKA_EVENT_ERROR | sys::RD_KAFKA_EVENT_OFFSET_COMMIT,
            ),
            Kind::Other => (sys::rd_kafka_type_t::RD_KAFKA_CONSUMER, sys::RD_KAFKA_EVENT_NONE),
            Kind::Producer => (
                sys::rd_kafka_type_t::RD_KAFKA_PRODUCER,
                sys::RD_KAFKA_EVENT_DR | sys::RD_KAFKA_EVENT_ERROR,
            ),
        };
        let mut reason: [c_char; 512] = [0; 512];
        // SAFETY: the configuration is alive; the opaque pointer is to the box that the client keeps until after it
        // is destroyed. `rd_kafka_new` takes the configuration only if it succeeds.
        let rk = unsafe {
            sys::rd_kafka_conf_set_opaque(conf.0.as_ptr(), (&raw const *log).cast_mut().cast());
            sys::rd_kafka_conf_set_log_cb(conf.0.as_ptr(), Some(log_line));
            sys::rd_kafka_conf_set_events(conf.0.as_ptr(), events);
            sys::rd_kafka_new(native_kind, conf.0.as_ptr(), reason.as_mut_ptr(), reason.len())
        };
        let Some(rk) = NonNull::new(rk) else {
            // SAFETY: librdkafka has written a text that ends with zero.
            let reason = unsafe { owned(reason.as_ptr()) };
            return Err(ClusterError::new(
                ClusterErrorKind::Fatal,
                format_args!("cannot make a Kafka client: {reason}"),
            ));
        };
        std::mem::forget(conf);
        Ok(Arc::new(Self {
            rk,
            log: Some(log),
            wakers: Mutex::default(),
        }))
    }

    pub(super) fn ptr(&self) -> *mut sys::rd_kafka_t {
        self.rk.as_ptr()
    }

    /// Whom to wake for a partition: the same one for the life of the client.
    pub(super) fn waker_of(&self, place: &TopicPartition) -> Arc<AtomicWaker> {
        self.wakers().entry(place.clone()).or_default().clone()
    }

    fn wakers(&self) -> MutexGuard<'_, Wakers> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error that has made the client useless, if there is one.
    pub(in super::super) fn fatal_error(&self) -> Option<NativeError> {
        let mut reason: [c_char; 512] = [0; 512];
        // SAFETY: the client is alive, and the text as long as we say.
        let code = unsafe { sys::rd_kafka_fatal_error(self.ptr(), reason.as_mut_ptr(), reason.len()) };
        if code == NO_ERROR {
            return None;
        }
        // SAFETY: librdkafka has written a text that ends with zero.
        let text = unsafe { owned(reason.as_ptr()) };
        Some(NativeError {
            fatal: true,
            ..NativeError::with(code, text)
        })
    }

    /// How many records of a producer are not written yet, or were not heard of.
    pub(in super::super) fn unwritten(&self) -> usize {
        // SAFETY: the client is alive.
        usize::try_from(unsafe { sys::rd_kafka_outq_len(self.ptr()) }).unwrap_or(0)
    }

    /// Waits until some broker has answered, or for this long. Returns its id.
    pub(in super::super) fn connect(&self, timeout: c_int) -> std::result::Result<i32, NativeError> {
        let mut metadata = std::ptr::null();
        // SAFETY: the client is alive; the answer is ours, read if there is one, and destroyed at once.
        unsafe {
            let code =
                sys::rd_kafka_metadata(self.ptr(), 0, std::ptr::null_mut(), &raw mut metadata, timeout);
            NativeError::check(code)?;
            let id = (*metadata).orig_broker_id;
            sys::rd_kafka_metadata_destroy(metadata);
            Ok(id)
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let remains = Remains {
            rk: self.rk,
            _log: self.log.take(),
            _wakers: std::mem::take(&mut *self.wakers()),
        };
        // If there is no thread to be had, the closure is dropped, and the client destroyed, here.
        let _ = thread::Builder::new()
            .name("kproc-kafka-end".into())
            .spawn(move || drop(remains));
    }
}

/// A client that nobody uses any more.
struct Remains {
    rk: NonNull<sys::rd_kafka_t>,
    _log: Option<Box<LogLine>>,
    _wakers: Wakers,
}

// SAFETY: as for `Client`.
unsafe impl Send for Remains {}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: all that was made of the client held the client, so nothing of it is left. What it points
        // to is dropped after this.
        unsafe { sys::rd_kafka_destroy_flags(self.rk.as_ptr(), sys::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) };
    }
}

unsafe extern "C" fn log_line(
    rk: *const sys::rd_kafka_t,
    level: c_int,
    facility: *const c_char,
    line: *const c_char,
) {
    if rk.is_null() || facility.is_null() || line.is_null() {
        return;
    }
    // SAFETY: the opaque pointer is the box given in `Client::new`, which lives until after the client; the texts
    // live for this call.
    let (log, facility, line) = unsafe {
        let log: *mut c_void = sys::rd_kafka_opaque(rk);
        (
            &*log.cast::<LogLine>(),
            CStr::from_ptr(facility),
            CStr::from_ptr(line),
        )
    };
    log(level, &facility.to_string_lossy(), &line.to_string_lossy());
}

/// What this build of librdkafka can do: `gzip`, `ssl`, `sasl_scram`, `zstd` and so on.
pub(in super::super) fn features() -> Vec<String> {
    let conf = Conf::new();
    let mut value: [c_char; 512] = [0; 512];
    let mut size = value.len();
    // SAFETY: the configuration is alive, the name a literal, and the text as long as we say.
    let found = unsafe {
        sys::rd_kafka_conf_get(
            conf.0.as_ptr(),
            c"builtin.features".as_ptr(),
            value.as_mut_ptr(),
            &raw mut size,
        )
    };
    if found != sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
        return Vec::new();
    }
    // SAFETY: librdkafka has written a text that ends with zero.
    let value = unsafe { owned(value.as_ptr()) };
    value
        .split(',')
        .map(|feature| feature.trim().to_owned())
        .collect()
}

/// Properties that a client is about to be made of.
struct Conf(NonNull<sys::rd_kafka_conf_t>);

impl Conf {
    fn new() -> Self {
        // SAFETY: no conditions.
        let conf = NonNull::new(unsafe { sys::rd_kafka_conf_new() });
        Self(conf.expect("librdkafka ends the process when it is out of memory"))
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        let (c_name, c_value) = (text(name)?, secret_text(name, value)?);
        let mut reason: [c_char; 512] = [0; 512];
        // SAFETY: the configuration is alive, the texts end with zero, and the reason is as long as we say.
        let outcome = unsafe {
            sys::rd_kafka_conf_set(
                self.0.as_ptr(),
                c_name.as_ptr(),
                c_value.as_ptr(),
                reason.as_mut_ptr(),
                reason.len(),
            )
        };
        if outcome == sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
            return Ok(());
        }
        // librdkafka's reason may quote the value.
        let reason = if is_secret(name) {
            "librdkafka does not take its value".to_owned()
        } else {
            // SAFETY: librdkafka has written a text that ends with zero.
            unsafe { owned(reason.as_ptr()) }
        };
        let message = format_args!("property `{name}`: {reason}");
        Err(ClusterError::new(ClusterErrorKind::Fatal, message))
    }
}

/// As [`text`], without the value in the error.
fn secret_text(name: &str, value: &str) -> Result<std::ffi::CString> {
    text(value).map_err(|_| {
        let message = format_args!("the value of property `{name}` has a zero byte in it");
        ClusterError::new(ClusterErrorKind::Fatal, message)
    })
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: it was not given to a client, which forgets it.
        unsafe { sys::rd_kafka_conf_destroy(self.0.as_ptr()) };
    }
}
