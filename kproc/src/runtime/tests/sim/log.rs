//! A trial's run with the runtime's log, each line with its virtual time and the instance that wrote it.

use std::{
    fmt,
    io::{self, Write},
    sync::{Arc, Mutex},
};

use tracing_subscriber::fmt::{format::Writer, time::FormatTime};

use super::{
    run::{Course, run_on},
    trial::Trial,
};
use crate::{
    Clock,
    testing::{clock::SimClock, exec::Executor},
};

/// Runs a trial. Its log goes with it.
pub(super) fn run_logged(trial: &Trial) -> (Course, String) {
    let executor = Executor::new(trial.seed);
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_timer(Virtual(executor.clock().clone()))
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_target(false)
        .with_writer({
            let lines = lines.clone();
            move || lines.clone()
        })
        .finish();
    let course = tracing::subscriber::with_default(subscriber, || run_on(executor, trial));
    let log = String::from_utf8_lossy(&lines.0.lock().unwrap()).into_owned();
    (course, log)
}

struct Virtual(SimClock);

impl FormatTime for Virtual {
    fn format_time(&self, w: &mut Writer<'_>) -> fmt::Result {
        write!(w, "{:.6}s", self.0.now().as_secs_f64())?;
        match self.0.polled() {
            Some(crew) => write!(w, " instance {}", crew.0),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
