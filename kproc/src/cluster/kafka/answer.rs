//! Waiting for answers, but not for ever.

use std::time::Duration;

use futures_util::future::{Either, select};

use super::native::{Call, Code, NativeError};
use crate::clock::Clock;

/// How long an answer may take. What waits for a coordinator is waited for by librdkafka as long as there is none.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer to a request, which stays on its way if the answer takes too long.
pub(super) async fn answer<T>(call: Call<T>, clock: &dyn Clock) -> Result<T, NativeError> {
    match select(call, clock.sleep_until(clock.now() + PATIENCE)).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(_) => Err(NativeError::of(Code::RD_KAFKA_RESP_ERR__TIMED_OUT)),
    }
}
