//! Connecting before anything else is asked of a client.
//!
//! librdkafka (2.12) drops the address that it was given as soon as that has told it of the brokers, and with it
//! whatever was asked meanwhile; that is asked again seconds later.

use std::{ffi::c_int, sync::Arc, thread, time::Duration};

use super::{
    client_thread::ClientThread,
    error::kind_of,
    native::{Client, NativeError},
};
use crate::{
    clock::{BoxFuture, Clock},
    cluster::Result,
};

/// How long one try waits.
const STEP: c_int = 500;

/// How much time is left to librdkafka between a try that failed at once and the next.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until a broker has answered, for so long at most, and for as long as somebody else has the client and `go_on` says so. Blocks.
pub(super) fn connect(
    client: &Arc<Client>,
    clock: &dyn Clock,
    patience: Duration,
    go_on: impl Fn() -> bool,
) -> std::result::Result<(), NativeError> {
    let deadline = clock.now() + patience;
    loop {
        let Err(error) = client.connect(STEP) else {
            return Ok(());
        };
        let helps = kind_of(error.code).is_transient() && go_on() && Arc::strong_count(client) > 1;
        if !helps || clock.now() >= deadline {
            return Err(error);
        }
        thread::sleep(PAUSE);
    }
}

/// As [`connect`], on a thread of its own.
pub(super) fn connected(client: &Arc<Client>, clock: &Arc<dyn Clock>) -> BoxFuture<'static, Result<()>> {
    /// How long brokers that do not answer are waited for.
    const PATIENCE: Duration = Duration::from_secs(10);
    let (client, clock) = (client.clone(), clock.clone());
    match ClientThread::start("kproc-kafka-connect") {
        Ok(thread) => Box::pin(thread.call(move || {
            // Failing is no harm: what is asked next tells of it.
            let _ = connect(&client, &*clock, PATIENCE, || true);
            Ok(())
        })),
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}
