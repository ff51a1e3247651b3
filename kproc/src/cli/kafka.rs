//! `run --brokers`: on Kafka, until somebody stops it.

use std::pin::pin;

use tokio::select;

use super::{cluster, failure::Failure, restores, signal::Interrupted};
use crate::{
    app::{App, state_dir},
    config::Settings,
};

/// Runs until a signal, which stops in good order, or a failure.
pub(crate) fn run(mut app: App, settings: &Settings, quiet: bool) -> Result<(), Failure> {
    let interrupted = Interrupted::watch();
    let mut interrupted =
        interrupted.map_err(|error| Failure::run(format!("cannot watch signals: {error}")))?;
    tracing::info!(
        "`{}` runs on Kafka at {}; its state is in {}",
        app.id,
        settings.brokers.join(","),
        state_dir(settings).display()
    );
    app.settings = settings.clone();
    let running = app.start().map_err(Failure::usage)?;
    cluster::executor()?.block_on(async {
        let mut ended = pin!(running.wait());
        select! { biased;
            ended = &mut ended => return ended.map_err(Failure::run),
            _ = interrupted.number() => running.shutdown(settings.stop_timeout),
            never = restores::show(&running, quiet) => match never {},
        }
        ended.await.map_err(Failure::run)
    })
}
