//! Queues: where librdkafka puts events and records, and whom it wakes then.

use std::{
    ffi::{c_int, c_void},
    ptr::NonNull,
    sync::Arc,
    task::Waker,
};

use futures_util::task::AtomicWaker;
use rdkafka_sys as sys;

use super::{
    Client,
    error::{NO_ERROR, NativeError},
    list::PartitionList,
    owned, text,
};
use crate::{cluster::Result, record::TopicPartition};

/// A queue of a client.
pub(in super::super) struct Queue {
    native: NonNull<sys::rd_kafka_queue_t>,
    wake: Wake,
    client: Arc<Client>,
}

/// Who is to be woken. librdkafka points to it.
enum Wake {
    /// While the object is here, which nobody else has.
    Own(Box<AtomicWaker>),
    /// For the life of the client: several objects may be the same queue of librdkafka, which has one callback.
    Shared(Arc<AtomicWaker>),
}

// SAFETY: librdkafka's queues may be used by several threads at once, and destroyed by any.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new queue, for answers.
    pub(in super::super) fn new(client: &Arc<Client>) -> Self {
        // SAFETY: the client is alive.
        Self::own(client, unsafe { sys::rd_kafka_queue_new(client.ptr()) })
    }

    /// The queue of a consumer: rebalances, errors, and records of partitions that have no queue of their own.
    pub(in super::super) fn of_consumer(client: &Arc<Client>) -> Self {
        // SAFETY: the client is alive, and a consumer with a group.
        unsafe {
            sys::rd_kafka_poll_set_consumer(client.ptr());
            Self::own(client, sys::rd_kafka_queue_get_consumer(client.ptr()))
        }
    }

    /// The main queue of a client: errors, delivery reports.
    pub(in super::super) fn main(client: &Arc<Client>) -> Self {
        // SAFETY: the client is alive.
        Self::own(client, unsafe { sys::rd_kafka_queue_get_main(client.ptr()) })
    }

    /// Gives a partition a queue of its own. To be called before its records are fetched; the partition stays
    /// split for the life of the client.
    pub(in super::super) fn of_partition(client: &Arc<Client>, place: &TopicPartition) -> Result<Self> {
        let topic = text(&place.topic)?;
        // SAFETY: the client is alive; forwarding to nothing is what splits the partition off.
        unsafe {
            let queue =
                sys::rd_kafka_queue_get_partition(client.ptr(), topic.as_ptr(), place.partition.get() as i32);
            sys::rd_kafka_queue_forward(queue, std::ptr::null_mut());
            Ok(Self::with(client, queue, Wake::Shared(client.waker_of(place))))
        }
    }

    fn own(client: &Arc<Client>, queue: *mut sys::rd_kafka_queue_t) -> Self {
        Self::with(client, queue, Wake::Own(Box::default()))
    }

    fn with(client: &Arc<Client>, queue: *mut sys::rd_kafka_queue_t, wake: Wake) -> Self {
        Self {
            native: NonNull::new(queue).expect("a live client has its queues"),
            wake,
            client: client.clone(),
        }
    }

    fn waker(&self) -> &AtomicWaker {
        match &self.wake {
            Wake::Own(waker) => waker,
            Wake::Shared(waker) => waker,
        }
    }

    /// From now on whoever [registers](Self::register) is woken when the queue gets something while it is empty.
    pub(in super::super) fn notify(&self) {
        // SAFETY: the queue is alive; the waker stays where it is. The client keeps it if it is shared, and else the
        // callback is taken back before it goes.
        unsafe {
            sys::rd_kafka_queue_cb_event_enable(
                self.ptr(),
                Some(not_empty),
                std::ptr::from_ref(self.waker()).cast_mut().cast::<c_void>(),
            );
        }
    }

    /// Who is to be woken.
    pub(in super::super) fn register(&self, waker: &Waker) {
        self.waker().register(waker);
    }

    /// Wakes who is registered, though nothing has come.
    pub(in super::super) fn wake(&self) {
        self.waker().wake();
    }

    /// Lets who waits in [`poll`](Self::poll) go on.
    pub(in super::super) fn interrupt(&self) {
        // SAFETY: the queue is alive.
        unsafe { sys::rd_kafka_queue_yield(self.ptr()) };
    }

    /// The next event, waited for that long (in milliseconds).
    pub(in super::super) fn poll(&self, timeout: c_int) -> Option<Event> {
        // SAFETY: the queue is alive; the event is ours.
        NonNull::new(unsafe { sys::rd_kafka_queue_poll(self.ptr(), timeout) }).map(Event)
    }

    pub(super) fn ptr(&self) -> *mut sys::rd_kafka_queue_t {
        self.native.as_ptr()
    }

    pub(in super::super) fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the queue is ours. librdkafka calls back under the queue's lock, so that after the first call
        // nobody uses a waker of our own any more. A shared one is used on, for the queue's other objects.
        unsafe {
            if let Wake::Own(_) = self.wake {
                sys::rd_kafka_queue_cb_event_enable(self.ptr(), None, std::ptr::null_mut());
            }
            sys::rd_kafka_queue_destroy(self.ptr());
        }
    }
}

unsafe extern "C" fn not_empty(_: *mut sys::rd_kafka_t, wake: *mut c_void) {
    // SAFETY: it is the waker of a queue or a client that is still there.
    unsafe { &*wake.cast::<AtomicWaker>() }.wake();
}

/// Something that has happened.
pub(in super::super) struct Event(NonNull<sys::rd_kafka_event_t>);

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum EventKind {
    Rebalance,
    Error,
    Deliveries,
    Statistics,
    Other,
}

impl Event {
    /// # Safety
    /// `event` is the caller's, who gives it away.
    pub(super) unsafe fn own(event: NonNull<sys::rd_kafka_event_t>) -> Self {
        Self(event)
    }

    pub(super) fn ptr(&self) -> *mut sys::rd_kafka_event_t {
        self.0.as_ptr()
    }

    /// What has happened.
    pub(in super::super) fn kind(&self) -> EventKind {
        // SAFETY: the event is alive.
        match unsafe { sys::rd_kafka_event_type(self.ptr()) } {
            sys::RD_KAFKA_EVENT_REBALANCE => EventKind::Rebalance,
            sys::RD_KAFKA_EVENT_ERROR => EventKind::Error,
            sys::RD_KAFKA_EVENT_DR => EventKind::Deliveries,
            sys::RD_KAFKA_EVENT_STATS => EventKind::Statistics,
            _ => EventKind::Other,
        }
    }

    /// The error that it carries.
    pub(in super::super) fn error(&self) -> Option<NativeError> {
        // SAFETY: the event is alive, and its text as long as it is.
        unsafe {
            let code = sys::rd_kafka_event_error(self.ptr());
            if code == NO_ERROR {
                return None;
            }
            let text = owned(sys::rd_kafka_event_error_string(self.ptr()));
            Some(NativeError {
                // To be asked of errors only: in other events it would read what is not there.
                fatal: self.kind() == EventKind::Error && sys::rd_kafka_event_error_is_fatal(self.ptr()) != 0,
                ..NativeError::with(code, text)
            })
        }
    }

    /// The statistics that it carries, as JSON.
    pub(in super::super) fn statistics(&self) -> String {
        // SAFETY: the event is alive, and its text as long as it is; other events have none.
        unsafe { owned(sys::rd_kafka_event_stats(self.ptr())) }
    }

    /// The partitions that it is about.
    pub(in super::super) fn partitions(&self) -> PartitionList {
        // SAFETY: the event is alive, and its list as long as it is.
        unsafe {
            let list = sys::rd_kafka_event_topic_partition_list(self.ptr());
            if list.is_null() {
                PartitionList::new()
            } else {
                PartitionList::copy_of(list)
            }
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is ours.
        unsafe { sys::rd_kafka_event_destroy(self.ptr()) };
    }
}
