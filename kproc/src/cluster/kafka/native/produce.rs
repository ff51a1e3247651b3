//! Writing records, with and without transactions.

use std::{
    ffi::{c_int, c_void},
    ptr::NonNull,
    sync::Arc,
};

use rdkafka_sys as sys;

use super::{
    Client, Event, GroupMetadata, NativeError, PartitionList,
    error::{Code, NO_ERROR},
    owned, text,
};
use crate::{
    cluster::Result,
    outbox::OutgoingRecord,
    record::{Offset, Partition},
};

type Outcome<T> = std::result::Result<T, NativeError>;

/// A topic as a client knows it.
pub(in super::super) struct TopicHandle {
    topic: NonNull<sys::rd_kafka_topic_t>,
    client: Arc<Client>,
}

// SAFETY: librdkafka's topic objects may be used by several threads at once.
unsafe impl Send for TopicHandle {}
// SAFETY: as above.
unsafe impl Sync for TopicHandle {}

impl TopicHandle {
    /// The topic of this name, which need not exist.
    pub(in super::super) fn new(client: &Arc<Client>, name: &str) -> Result<Outcome<Self>> {
        let name = text(name)?;
        // SAFETY: the client is alive, and the text ends with zero; without a configuration the client's own holds.
        let topic = unsafe { sys::rd_kafka_topic_new(client.ptr(), name.as_ptr(), std::ptr::null_mut()) };
        Ok(match NonNull::new(topic) {
            Some(topic) => Ok(Self {
                topic,
                client: client.clone(),
            }),
            // SAFETY: the last error of this thread is that of the last call.
            None => Err(NativeError::of(unsafe { sys::rd_kafka_last_error() })),
        })
    }

    /// Begins to fetch a partition into a queue.
    pub(in super::super) fn start(
        &self,
        partition: Partition,
        offset: Offset,
        queue: &super::Queue,
    ) -> Outcome<()> {
        // SAFETY: topic and queue are alive.
        let refused = unsafe {
            sys::rd_kafka_consume_start_queue(
                self.topic.as_ptr(),
                partition.get() as i32,
                offset.get() as i64,
                queue.ptr(),
            )
        };
        last_error(refused)
    }

    /// Stops fetching a partition.
    pub(in super::super) fn stop(&self, partition: Partition) -> Outcome<()> {
        // SAFETY: the topic is alive.
        let refused = unsafe { sys::rd_kafka_consume_stop(self.topic.as_ptr(), partition.get() as i32) };
        last_error(refused)
    }

    /// Hands a record over. The bytes are copied.
    pub(in super::super) fn produce(&self, record: &OutgoingRecord<'_>) -> Outcome<()> {
        let headers = record.headers;
        let headers = (!headers.is_empty()).then(|| Headers::of(headers));
        // librdkafka takes a time of zero for "now", and cannot be told otherwise: the next millisecond it is.
        let timestamp = record
            .timestamp
            .map_or(0, |timestamp| match timestamp.as_millis() {
                0 => 1,
                millis => millis,
            });
        let partition = record.partition.map_or(-1, |partition| partition.get() as i32);
        let arguments = [
            argument(
                Type::RD_KAFKA_VTYPE_RKT,
                Value {
                    rkt: self.topic.as_ptr(),
                },
            ),
            argument(Type::RD_KAFKA_VTYPE_PARTITION, Value { i32_: partition }),
            argument(
                Type::RD_KAFKA_VTYPE_MSGFLAGS,
                Value {
                    i: sys::RD_KAFKA_MSG_F_COPY,
                },
            ),
            argument(
                Type::RD_KAFKA_VTYPE_KEY,
                Value {
                    mem: memory(record.key),
                },
            ),
            argument(
                Type::RD_KAFKA_VTYPE_VALUE,
                Value {
                    mem: memory(record.value),
                },
            ),
            argument(Type::RD_KAFKA_VTYPE_TIMESTAMP, Value { i64_: timestamp }),
            argument(
                Type::RD_KAFKA_VTYPE_HEADERS,
                Value {
                    headers: headers.as_ref().map_or(std::ptr::null_mut(), |headers| headers.0),
                },
            ),
        ];
        // The last one is left out if there are none.
        let count = arguments.len() - usize::from(headers.is_none());
        // SAFETY: each argument is of the kind that its type says, and lives for the call; key and value are
        // copied; the headers are librdkafka's if the call succeeds, and ours otherwise.
        let outcome = unsafe {
            NativeError::take(sys::rd_kafka_produceva(
                self.client.ptr(),
                arguments.as_ptr(),
                count,
            ))
        };
        if outcome.is_ok() {
            std::mem::forget(headers);
        }
        outcome
    }
}

impl Drop for TopicHandle {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { sys::rd_kafka_topic_destroy(self.topic.as_ptr()) };
    }
}

fn last_error(refused: c_int) -> Outcome<()> {
    if refused == 0 {
        return Ok(());
    }
    // SAFETY: the last error of this thread is that of the last call.
    Err(NativeError::of(unsafe { sys::rd_kafka_last_error() }))
}

use sys::{rd_kafka_vtype_t as Type, rd_kafka_vu_s__bindgen_ty_1 as Value};

fn argument(vtype: Type, u: Value) -> sys::rd_kafka_vu_t {
    sys::rd_kafka_vu_t { vtype, u }
}

/// Null is a null pointer; what is empty has some pointer.
fn memory(bytes: Option<&[u8]>) -> sys::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_1 {
    sys::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_1 {
        ptr: bytes.map_or(std::ptr::null_mut(), |bytes| {
            bytes.as_ptr().cast_mut().cast::<c_void>()
        }),
        size: bytes.map_or(0, <[u8]>::len),
    }
}

/// Headers that are ours.
struct Headers(*mut sys::rd_kafka_headers_t);

impl Headers {
    fn of(headers: crate::record::Headers<'_>) -> Self {
        // SAFETY: no conditions; librdkafka ends the process when it is out of memory.
        let native = Self(unsafe { sys::rd_kafka_headers_new(4) });
        for (name, value) in headers.iter() {
            let value = memory(value);
            // SAFETY: the headers are alive, name and value as long as we say, and copied.
            unsafe {
                sys::rd_kafka_header_add(
                    native.0,
                    name.as_ptr().cast(),
                    name.len() as isize,
                    value.ptr,
                    value.size as isize,
                );
            }
        }
        native
    }
}

impl Drop for Headers {
    fn drop(&mut self) {
        // SAFETY: they are ours.
        unsafe { sys::rd_kafka_headers_destroy(self.0) };
    }
}

/// What became of a record.
pub(in super::super) struct Delivery<'e> {
    /// The same for all records of a topic.
    pub(in super::super) topic: usize,
    pub(in super::super) partition: i32,
    pub(in super::super) offset: i64,
    pub(in super::super) error: Option<Code>,
    message: &'e sys::rd_kafka_message_t,
}

impl Delivery<'_> {
    /// The topic's name.
    pub(in super::super) fn topic_name(&self) -> String {
        // SAFETY: a message that was produced has a topic, which lives as long as it does.
        unsafe { owned(sys::rd_kafka_topic_name(self.message.rkt)) }
    }

    /// How many bytes its content has.
    pub(in super::super) fn size(&self) -> usize {
        self.message.len + self.message.key_len
    }
}

impl Event {
    /// What became of records, one by one.
    pub(in super::super) fn deliveries(&self, mut each: impl FnMut(Delivery<'_>)) {
        loop {
            // SAFETY: the event is alive, and its messages as long as it is.
            let message = unsafe { sys::rd_kafka_event_message_next(self.ptr()).as_ref() };
            let Some(message) = message else { return };
            each(Delivery {
                topic: message.rkt.addr(),
                partition: message.partition,
                offset: message.offset,
                error: (message.err != NO_ERROR).then_some(message.err),
                message,
            });
        }
    }
}

/// The calls of transactions, each of which blocks for as long as it says (in milliseconds), and may be made again
/// if it could not be done in that time.
pub(in super::super) trait Transaction {
    fn init_transactions(&self, timeout: c_int) -> Outcome<()>;
    fn begin_transaction(&self) -> Outcome<()>;
    fn send_offsets(&self, offsets: &PartitionList, group: &GroupMetadata, timeout: c_int) -> Outcome<()>;
    fn commit_transaction(&self, timeout: c_int) -> Outcome<()>;
    fn abort_transaction(&self, timeout: c_int) -> Outcome<()>;
    /// Waits until all that was handed over is written, or has failed, and was heard of.
    fn flush(&self, timeout: c_int) -> Outcome<()>;
}

impl Transaction for Client {
    fn init_transactions(&self, timeout: c_int) -> Outcome<()> {
        // SAFETY: the client is alive, and a producer; the same for those below.
        unsafe { NativeError::take(sys::rd_kafka_init_transactions(self.ptr(), timeout)) }
    }

    fn begin_transaction(&self) -> Outcome<()> {
        // SAFETY: as above.
        unsafe { NativeError::take(sys::rd_kafka_begin_transaction(self.ptr())) }
    }

    fn send_offsets(&self, offsets: &PartitionList, group: &GroupMetadata, timeout: c_int) -> Outcome<()> {
        // SAFETY: as above; list and metadata are alive for the call.
        unsafe {
            NativeError::take(sys::rd_kafka_send_offsets_to_transaction(
                self.ptr(),
                offsets.ptr(),
                group.ptr(),
                timeout,
            ))
        }
    }

    fn commit_transaction(&self, timeout: c_int) -> Outcome<()> {
        // SAFETY: as above.
        unsafe { NativeError::take(sys::rd_kafka_commit_transaction(self.ptr(), timeout)) }
    }

    fn abort_transaction(&self, timeout: c_int) -> Outcome<()> {
        // SAFETY: as above.
        unsafe { NativeError::take(sys::rd_kafka_abort_transaction(self.ptr(), timeout)) }
    }

    fn flush(&self, timeout: c_int) -> Outcome<()> {
        // SAFETY: as above.
        NativeError::check(unsafe { sys::rd_kafka_flush(self.ptr(), timeout) })
    }
}
