//! Clients: made of properties, destroyed on a thread of their own.

use std::{
    collections::BTreeMap,
    ffi::{CString, c_char, c_int},
    ptr::NonNull,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use futures_util::task::AtomicWaker;
use rdkafka_sys as sys;

use super::{
    conf::Conf,
    ear::{Ear, Listener, background_event, log_line, refresh_token},
    error::{NO_ERROR, NativeError},
    owned,
    refusal::Refusal,
    sockets::{Sockets, close_socket, open_socket},
};
use crate::{
    cluster::{ClusterError, ClusterErrorKind, Result},
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

/// A client of a cluster.
///
/// Dropping it ends it without a word to the cluster: a consumer does not leave its group, a producer forgets what
/// it has not yet sent. It is destroyed on a thread of its own, for that takes a while.
pub(in super::super) struct Client {
    rk: NonNull<sys::rd_kafka_t>,
    /// librdkafka points to it until it is destroyed.
    ear: Option<Box<Ear>>,
    /// Who waits for the records of each partition. As above.
    wakers: Mutex<Wakers>,
    /// Begins and ends of calls: odd during a call.
    calls: AtomicU64,
}

type Wakers = BTreeMap<TopicPartition, Arc<AtomicWaker>>;

/// A call that is being made, until this is dropped: it may end by a panic.
struct InCall<'c>(&'c AtomicU64);

impl<'c> InCall<'c> {
    fn begin(calls: &'c AtomicU64) -> Self {
        calls.fetch_add(1, Ordering::Relaxed);
        Self(calls)
    }
}

impl Drop for InCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: librdkafka's client objects may be used by several threads at once, and destroyed by any.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    /// A new client with these properties.
    pub(in super::super) fn new<'p>(
        kind: Kind,
        properties: impl IntoIterator<Item = (&'p str, &'p str)>,
        listener: Arc<dyn Listener>,
    ) -> Result<Arc<Self>> {
        let conf = Conf::new();
        for (name, value) in properties {
            conf.insist(name, value)?;
        }
        let (native_kind, events) = match kind {
            Kind::Member => (
                sys::rd_kafka_type_t::RD_KAFKA_CONSUMER,
                sys::RD_KAFKA_EVENT_REBALANCE | sys::RD_KAFKA_EVENT_OFFSET_COMMIT,
            ),
            Kind::Other => (sys::rd_kafka_type_t::RD_KAFKA_CONSUMER, 0),
            Kind::Producer => (sys::rd_kafka_type_t::RD_KAFKA_PRODUCER, sys::RD_KAFKA_EVENT_DR),
        };
        let events = events | sys::RD_KAFKA_EVENT_ERROR | sys::RD_KAFKA_EVENT_STATS;
        let tokens = listener.tokens().is_some();
        let ear = Box::new(Ear {
            listener,
            refusal: Refusal::default(),
            sockets: Sockets::default(),
        });
        let mut reason: [c_char; 512] = [0; 512];
        // SAFETY: the configuration is alive; the opaque pointer is to the box that the client keeps until after it
        // is destroyed. `rd_kafka_new` takes the configuration only if it succeeds.
        let rk = unsafe {
            sys::rd_kafka_conf_set_opaque(conf.ptr(), (&raw const *ear).cast_mut().cast());
            sys::rd_kafka_conf_set_log_cb(conf.ptr(), Some(log_line));
            sys::rd_kafka_conf_set_socket_cb(conf.ptr(), Some(open_socket));
            sys::rd_kafka_conf_set_closesocket_cb(conf.ptr(), Some(close_socket));
            sys::rd_kafka_conf_set_events(conf.ptr(), events);
            if tokens || kind == Kind::Other {
                // This makes a thread for callbacks.
                sys::rd_kafka_conf_set_background_event_cb(conf.ptr(), Some(background_event));
            }
            if tokens {
                sys::rd_kafka_conf_enable_sasl_queue(conf.ptr(), 1);
                sys::rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf.ptr(), Some(refresh_token));
            }
            sys::rd_kafka_new(native_kind, conf.ptr(), reason.as_mut_ptr(), reason.len())
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
        let client = Self {
            rk,
            ear: Some(ear),
            wakers: Mutex::default(),
            calls: AtomicU64::new(0),
        };
        if tokens {
            // SAFETY: the client is alive, and has its thread for callbacks. The first token is fetched there now,
            // not when the client is polled for the first time: requests before that would wait for it.
            let enabled =
                unsafe { NativeError::take(sys::rd_kafka_sasl_background_callbacks_enable(client.ptr())) };
            if let Err(error) = enabled {
                let message = format_args!("cannot make a Kafka client that logs in by tokens: {error}");
                return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
            }
        }
        if kind == Kind::Other {
            // SAFETY: the client is alive, and has its thread for callbacks; the two queues are ours.
            unsafe {
                let main = sys::rd_kafka_queue_get_main(client.ptr());
                let background = sys::rd_kafka_queue_get_background(client.ptr());
                sys::rd_kafka_queue_forward(main, background);
                sys::rd_kafka_queue_destroy(background);
                sys::rd_kafka_queue_destroy(main);
            }
        }
        Ok(Arc::new(client))
    }

    /// Makes a call that may not return. There is one at a time.
    pub(in super::super) fn in_call<T>(&self, call: impl FnOnce(&Self) -> T) -> T {
        let _until_it_is_over = InCall::begin(&self.calls);
        call(self)
    }

    /// The number of the call that is being made.
    pub(in super::super) fn call(&self) -> Option<u64> {
        let number = self.calls.load(Ordering::Relaxed);
        (number % 2 == 1).then_some(number)
    }

    /// Ends one of its connections, another one each time. It makes that one anew.
    pub(in super::super) fn end_a_connection(&self) {
        self.ear().sockets.end_one();
    }

    /// Why brokers do not let this client in, as far as that was heard.
    pub(super) fn refusal(&self) -> &Refusal {
        &self.ear().refusal
    }

    fn ear(&self) -> &Ear {
        let ear = self.ear.as_ref();
        ear.expect("it goes with the client only")
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

    /// Its name, for logs.
    pub(in super::super) fn name(&self) -> String {
        // SAFETY: the client is alive, and its name as long as it is.
        unsafe { owned(sys::rd_kafka_name(self.ptr())) }
    }

    /// Whether the last answer about brokers had none. (librdkafka does not tell that. It tells what is known of the cluster:
    /// where there is no broker there is no controller either.)
    pub(in super::super) fn was_told_of_no_broker(&self) -> bool {
        // SAFETY: the client is alive. What is not known is not waited for; the text is ours, and freed once.
        unsafe {
            let cluster = sys::rd_kafka_clusterid(self.ptr(), 0);
            let answered = !cluster.is_null();
            sys::rd_kafka_mem_free(self.ptr(), cluster.cast());
            answered && sys::rd_kafka_controllerid(self.ptr(), 0) == -1
        }
    }

    /// More addresses to ask for brokers, with commas between them. Those that are known are left out.
    pub(in super::super) fn add_brokers(&self, addresses: &str) {
        // Addresses with a zero byte in them were refused as a property.
        if let Ok(addresses) = CString::new(addresses) {
            // SAFETY: the client is alive, and the text ends with zero.
            unsafe { sys::rd_kafka_brokers_add(self.ptr(), addresses.as_ptr()) };
        }
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
            _ear: self.ear.take(),
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
    _ear: Option<Box<Ear>>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_panics_is_over() {
        let calls = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(|| {
            let _until_it_is_over = InCall::begin(&calls);
            panic!("in the middle of it");
        });
        assert!(outcome.is_err());
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}
