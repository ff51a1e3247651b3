//! Batches of librdkafka's messages, lent without a copy.

use std::{ffi::c_void, ptr::NonNull, sync::Arc};

use rdkafka_sys as sys;

use super::{
    Client, Queue,
    error::{Code, NO_ERROR, NativeError},
    owned,
};
use crate::{
    batch::{Batch, Lent, LentRow},
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
    let mut messages = Vec::with_capacity(pointers.len());
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
                messages.push(message);
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
    if !messages.is_empty() {
        found.batch.push_lent(lend(messages, queue.client().clone()));
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

/// What lent records are in.
#[allow(dead_code, reason = "keeps what the records are in")]
struct Keeper {
    /// Of all messages, encoded: librdkafka parses them one by one.
    headers: Vec<u8>,
    /// Destroyed before the client is let go.
    messages: Vec<Message>,
    /// Must outlive its messages.
    client: Arc<Client>,
}

// SAFETY: after they were taken, messages are only read, until they are destroyed, which any thread may do.
unsafe impl Send for Keeper {}
// SAFETY: as above.
unsafe impl Sync for Keeper {}

/// Looks up once where in the messages everything is.
fn lend(messages: Vec<Message>, client: Arc<Client>) -> Lent {
    let mut headers = Vec::new();
    let ends: Vec<usize> = messages
        .iter()
        .map(|message| {
            encode_headers(message, &mut headers);
            headers.len()
        })
        .collect();
    let mut begin = 0;
    let rows = messages.iter().zip(ends).map(|(message, end)| {
        let range = std::mem::replace(&mut begin, end)..end;
        // SAFETY: the message is alive; it and the headers stay where they are, and live as long as the keeper,
        // without which the rows are not seen.
        let (native, headers) = unsafe {
            (
                message.0.as_ref(),
                std::slice::from_raw_parts(headers[range.clone()].as_ptr(), range.len()),
            )
        };
        let (key, value) = (
            Bytes(native.key.cast(), native.key_len),
            Bytes(native.payload.cast(), native.len),
        );
        LentRow {
            offset: Offset::new(native.offset.max(0) as u64),
            timestamp: timestamp(message),
            // SAFETY: as above.
            key: unsafe { key.get() },
            // SAFETY: as above.
            value: unsafe { value.get() },
            headers: Headers::from_encoded(headers),
        }
    });
    let rows = rows.collect();
    let keeper = Keeper {
        headers,
        messages,
        client,
    };
    Lent::new(rows, Box::new(keeper))
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

fn encode_headers(message: &Message, to: &mut Vec<u8>) {
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
            encode_header(name, Bytes(value.cast(), size).get(), to);
            index += 1;
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
