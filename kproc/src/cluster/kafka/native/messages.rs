//! Batches of librdkafka's messages, lent without a copy.

use std::{ffi::c_void, ops::Range, ptr::NonNull, sync::Arc};

use rdkafka_sys as sys;

use super::{
    Client, Queue,
    error::{Code, NO_ERROR, NativeError},
    owned,
};
use crate::{
    batch::{Batch, Lender, LentRow},
    record::{Headers, Offset, Timestamp, encode_header},
};

/// What a queue had.
#[derive(Default)]
pub(in super::super) struct Found {
    pub(in super::super) batch: Batch,
    /// The next place, if it is known.
    pub(in super::super) next: Option<Offset>,
    /// Whether there was anything at all.
    pub(in super::super) any: bool,
    /// What came after the records. Later records, if any, are lost with it.
    pub(in super::super) error: Option<NativeError>,
}

/// Takes what there is, `max` records at most, and does not wait.
pub(in super::super) fn take_batch(queue: &Queue, max: usize) -> Found {
    let mut pointers: Vec<*mut sys::rd_kafka_message_t> = Vec::with_capacity(max);
    // SAFETY: the queue is alive and there is room for `max` pointers, of which the call fills as many as it says.
    // The messages are ours.
    unsafe {
        let count = sys::rd_kafka_consume_batch_queue(queue.ptr(), 0, pointers.as_mut_ptr(), max);
        pointers.set_len(usize::try_from(count).unwrap_or(0));
    }
    let mut found = Found {
        any: !pointers.is_empty(),
        ..Found::default()
    };
    let mut messages = Messages {
        rows: Vec::with_capacity(pointers.len()),
        headers: Vec::new(),
        owned: Vec::with_capacity(pointers.len()),
        client: queue.client().clone(),
    };
    for pointer in pointers {
        let Some(pointer) = NonNull::new(pointer) else {
            continue;
        };
        let message = Message(pointer);
        // SAFETY: the message is alive.
        let native = unsafe { message.0.as_ref() };
        match native.err {
            NO_ERROR if found.error.is_none() => {
                found.next = Some(Offset::new(native.offset.max(0) as u64 + 1));
                messages.take(message);
            }
            NO_ERROR => {}
            Code::RD_KAFKA_RESP_ERR__PARTITION_EOF => {
                found.next = Some(Offset::new(native.offset.max(0) as u64));
            }
            code => {
                // SAFETY: the message is alive, and its text as long as it is.
                let text = unsafe { owned(sys::rd_kafka_message_errstr(native)) };
                found.error = found.error.or_else(|| Some(NativeError::with(code, text)));
            }
        }
    }
    let rows = messages.rows.len() as u32;
    if rows > 0 {
        found.batch.push_lent(Arc::new(messages), rows);
    }
    found
}

/// A message that is ours.
struct Message(NonNull<sys::rd_kafka_message_t>);

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: the message is ours.
        unsafe { sys::rd_kafka_message_destroy(self.0.as_ptr()) };
    }
}

/// Messages, and where in them is what. Made once per batch, so that records are lent without another call.
struct Messages {
    rows: Vec<Row>,
    /// Of all messages, encoded: librdkafka parses them one by one.
    headers: Vec<u8>,
    /// Destroyed before the client is let go.
    owned: Vec<Message>,
    #[allow(dead_code, reason = "keeps the client, which must outlive its messages")]
    client: Arc<Client>,
}

// SAFETY: after they were taken, messages are only read, until they are destroyed, which any thread may do.
unsafe impl Send for Messages {}
// SAFETY: as above.
unsafe impl Sync for Messages {}

struct Row {
    offset: Offset,
    timestamp: Option<Timestamp>,
    key: Bytes,
    value: Bytes,
    headers: Range<u32>,
}

/// Bytes in a message; a null pointer is a null.
struct Bytes(*const u8, usize);

impl Bytes {
    /// # Safety
    /// The message that the bytes are in lives as long as `'m`.
    unsafe fn get<'m>(&self) -> Option<&'m [u8]> {
        // SAFETY: by the caller's promise; librdkafka says how long they are.
        (!self.0.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.0, self.1) })
    }
}

impl Messages {
    fn take(&mut self, message: Message) {
        let begin = self.headers.len() as u32;
        self.encode_headers(&message);
        // SAFETY: the message is alive.
        let native = unsafe { message.0.as_ref() };
        self.rows.push(Row {
            offset: Offset::new(native.offset.max(0) as u64),
            timestamp: timestamp(&message),
            key: Bytes(native.key.cast(), native.key_len),
            value: Bytes(native.payload.cast(), native.len),
            headers: begin..self.headers.len() as u32,
        });
        self.owned.push(message);
    }

    fn encode_headers(&mut self, message: &Message) {
        let mut headers = std::ptr::null_mut();
        // SAFETY: the message is alive, and so are its headers as long as it is. Names end with zero, are not
        // always UTF-8, and values are as long as librdkafka says.
        unsafe {
            if sys::rd_kafka_message_headers(message.0.as_ptr(), &raw mut headers) != NO_ERROR {
                return;
            }
            let (mut name, mut value, mut size) = (std::ptr::null(), std::ptr::null::<c_void>(), 0);
            let mut index = 0;
            while sys::rd_kafka_header_get_all(headers, index, &raw mut name, &raw mut value, &raw mut size)
                == NO_ERROR
            {
                let name = std::ffi::CStr::from_ptr(name).to_bytes();
                encode_header(name, Bytes(value.cast(), size).get(), &mut self.headers);
                index += 1;
            }
        }
    }
}

/// -1 is none, as Kafka has it; every other number is a time, zero included.
fn timestamp(message: &Message) -> Option<Timestamp> {
    let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    // SAFETY: the message is alive.
    let millis = unsafe { sys::rd_kafka_message_timestamp(message.0.as_ptr(), &raw mut kind) };
    let known = kind != sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && millis != -1;
    known.then(|| Timestamp::from_millis(millis))
}

impl Lender for Messages {
    fn row(&self, row: u32) -> LentRow<'_> {
        let row = &self.rows[row as usize];
        // SAFETY: the messages live as long as we do.
        let (key, value) = unsafe { (row.key.get(), row.value.get()) };
        LentRow {
            offset: row.offset,
            timestamp: row.timestamp,
            key,
            value,
            headers: Headers::from_encoded(
                &self.headers[row.headers.start as usize..row.headers.end as usize],
            ),
        }
    }
}
