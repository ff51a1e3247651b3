//! What a client says beside its answers: log lines, errors, statistics, and that it wants a token.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::Arc,
    time::SystemTime,
};

use rdkafka_sys as sys;

use super::{
    super::token::{Token, TokenProvider},
    Event, EventKind,
    error::{NO_ERROR, NativeError},
    owned,
    refusal::Refusal,
    sockets::Sockets,
};
use crate::error::panic_message;

/// Whom a client tells what nobody has asked for. Called on threads of librdkafka's.
pub(in super::super) trait Listener: Send + Sync {
    /// A line of its log: level (as in syslog), facility, text.
    fn line(&self, level: c_int, facility: &str, line: &str);
    /// An error of a client of the kind [`Other`](super::Kind::Other); those of the others come to their queues.
    fn error(&self, error: &NativeError);
    /// Statistics, as JSON, of such a client.
    fn statistics(&self, json: &str);
    /// Where tokens come from, if they do. The thread may wait.
    fn tokens(&self) -> Option<&TokenProvider>;
}

/// What librdkafka's callbacks are given.
pub(super) struct Ear {
    pub(super) listener: Arc<dyn Listener>,
    pub(super) refusal: Refusal,
    pub(super) sockets: Sockets,
}

pub(super) unsafe extern "C" fn log_line(
    rk: *const sys::rd_kafka_t,
    level: c_int,
    facility: *const c_char,
    line: *const c_char,
) {
    if rk.is_null() || facility.is_null() || line.is_null() {
        return;
    }
    // SAFETY: the texts live for this call.
    let (ear, facility, line) = unsafe {
        (
            ear(sys::rd_kafka_opaque(rk)),
            CStr::from_ptr(facility),
            CStr::from_ptr(line),
        )
    };
    let line = line.to_string_lossy();
    ear.listener.line(level, &facility.to_string_lossy(), &line);
}

/// # Safety
/// `opaque` is that of a client.
pub(super) unsafe fn ear<'e>(opaque: *mut c_void) -> &'e Ear {
    // SAFETY: it is the box given in `Client::new`, which lives until after the client; callbacks end before.
    unsafe { &*opaque.cast::<Ear>() }
}

pub(super) unsafe extern "C" fn background_event(
    _: *mut sys::rd_kafka_t,
    event: *mut sys::rd_kafka_event_t,
    opaque: *mut c_void,
) {
    let Some(event) = NonNull::new(event) else { return };
    // SAFETY: the event is given away, and the opaque pointer a client's.
    let (event, ear) = unsafe { (Event::own(event), ear(opaque)) };
    match (event.kind(), event.error()) {
        (EventKind::Error, Some(error)) => {
            ear.refusal.hear(&error);
            ear.listener.error(&error);
        }
        (EventKind::Statistics, _) => ear.listener.statistics(&event.statistics()),
        _ => {}
    }
}

pub(super) unsafe extern "C" fn refresh_token(
    rk: *mut sys::rd_kafka_t,
    _: *const c_char,
    opaque: *mut c_void,
) {
    // SAFETY: the opaque pointer is a client's.
    let Some(provider) = unsafe { ear(opaque) }.listener.tokens() else {
        return;
    };
    // A panic must not pass through librdkafka.
    let token = catch_unwind(AssertUnwindSafe(|| provider.token()));
    let outcome = match token {
        Ok(Ok(token)) => set_token(rk, &token),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("the provider panicked: {}", panic_message(&*panic))),
    };
    if let Err(reason) = outcome {
        let reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the client is alive, and the text ends with zero.
        unsafe { sys::rd_kafka_oauthbearer_set_token_failure(rk, reason.as_ptr()) };
    }
}

/// Gives a client its token.
fn set_token(rk: *mut sys::rd_kafka_t, token: &Token) -> Result<(), String> {
    let text = |text: &str| CString::new(text).map_err(|_| "the token has a zero byte in it".to_owned());
    let expires = token
        .expires
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let (value, principal) = (text(&token.value)?, text(&token.principal)?);
    let mut extensions = Vec::new();
    for (name, value) in &token.extensions {
        extensions.extend([text(name)?, text(value)?]);
    }
    let mut pointers: Vec<_> = extensions.iter().map(|text| text.as_ptr()).collect();
    let mut reason: [c_char; 512] = [0; 512];
    // SAFETY: the client is alive; all texts end with zero, and the last is as long as we say.
    let code = unsafe {
        sys::rd_kafka_oauthbearer_set_token(
            rk,
            value.as_ptr(),
            expires.as_millis() as i64,
            principal.as_ptr(),
            pointers.as_mut_ptr(),
            pointers.len(),
            reason.as_mut_ptr(),
            reason.len(),
        )
    };
    if code == NO_ERROR {
        return Ok(());
    }
    // SAFETY: librdkafka has written a text that ends with zero.
    Err(unsafe { owned(reason.as_ptr()) })
}
