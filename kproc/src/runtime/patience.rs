//! Asking again where that may help.

use std::{future::Future, time::Duration};

use crate::{clock::Clock, cluster::Result};

const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// After so long somebody should know.
const TELL_AFTER: Duration = Duration::from_secs(10);

/// Calls `verb` until it succeeds or fails for good, or for this long. Each wait is longer than the one before.
///
/// For questions, and for requests that do no harm twice: an answer that was lost is asked for again.
pub(crate) async fn retried<T, F: Future<Output = Result<T>>>(
    clock: &dyn Clock,
    patience: Duration,
    mut verb: impl FnMut() -> F,
) -> Result<T> {
    let end = clock.now().saturating_add(patience);
    let mut wait = FIRST_WAIT;
    let mut tell_at = Some(clock.now().saturating_add(TELL_AFTER));
    loop {
        match verb().await {
            Err(error) if error.kind.is_transient() && clock.now() < end => {
                if tell_at.take_if(|due| *due <= clock.now()).is_some() {
                    tracing::warn!(%error, "the cluster has not answered yet; it is asked again");
                } else {
                    tracing::debug!(%error, "the cluster is asked again");
                }
                clock.sleep_until((clock.now() + wait).min(end)).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            result => return result,
        }
    }
}
