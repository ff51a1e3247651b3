//! Ctrl-C and SIGTERM: the first one stops in good order, the second one at once.

use std::{io, thread};

use tokio::{
    select,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// Hears of the first signal.
#[derive(Clone)]
pub(crate) struct Interrupted(watch::Receiver<Option<u8>>);

impl Interrupted {
    /// Watches from now on, on a thread of its own: however busy the rest is, a second signal ends it.
    pub(crate) fn watch() -> io::Result<Self> {
        let (said, heard) = watch::channel(None);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (mut interrupt, mut terminate) = {
            let _inside = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let watching = move || {
            runtime.block_on(async {
                let first = next(&mut interrupt, &mut terminate).await;
                tracing::info!("stopping; once more ends the program at once");
                said.send_replace(Some(first));
                let second = next(&mut interrupt, &mut terminate).await;
                std::process::exit(128 + i32::from(second));
            });
        };
        thread::Builder::new()
            .name("kproc-signals".into())
            .spawn(watching)?;
        Ok(Self(heard))
    }

    /// Resolves to the number of the first signal.
    pub(crate) async fn number(&mut self) -> u8 {
        match self.0.wait_for(Option::is_some).await {
            Ok(number) => number.unwrap_or_default(),
            // Nobody watches any more: there will be no signal.
            Err(_) => std::future::pending().await,
        }
    }
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> u8 {
    const INTERRUPT: u8 = 2;
    const TERMINATE: u8 = 15;
    select! {
        biased;
        _ = interrupt.recv() => INTERRUPT,
        _ = terminate.recv() => TERMINATE,
    }
}
