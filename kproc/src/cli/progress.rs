//! How far long work is: a bar on a terminal, log lines elsewhere.

use std::{
    io::{IsTerminal, stderr},
    sync::LazyLock,
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// All bars there are, so that log lines can be written above them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Writes to standard error with the bars out of the way.
pub(crate) fn above_bars<T>(write: impl FnOnce() -> T) -> T {
    BARS.suspend(write)
}

/// How far a piece of work is.
pub(crate) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    shown: Shown,
    /// What was last said in a log line, in tenths.
    said: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Bar,
    Lines,
    Nothing,
}

impl Progress {
    /// Work that begins now, such as `feeding`.
    pub(crate) fn new(what: &'static str, quiet: bool) -> Self {
        let shown = match quiet {
            true => Shown::Nothing,
            false if stderr().is_terminal() => Shown::Bar,
            false => Shown::Lines,
        };
        let bar = if shown == Shown::Bar {
            let bar = BARS.add(ProgressBar::new_spinner());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        } else {
            ProgressBar::hidden()
        };
        bar.set_message(what);
        Self {
            bar,
            what,
            shown,
            said: 0,
        }
    }

    /// So much is done; the whole is known.
    pub(crate) fn set(&mut self, done: u64, whole: u64) {
        if self.bar.length() != Some(whole) {
            self.bar.set_style(style(
                "{msg:12} [{bar:40}] {human_pos}/{human_len} records, {eta} left",
            ));
            self.bar.set_length(whole);
        }
        self.bar.set_position(done);
        let tenths = (done * 10).checked_div(whole).unwrap_or_default();
        if self.shown == Shown::Lines && tenths > self.said {
            self.said = tenths;
            tracing::info!(done, whole, "{}: {}0 %", self.what, tenths);
        }
    }

    /// So much is done; nobody knows of how much.
    pub(crate) fn count(&mut self, done: u64) {
        self.bar
            .set_style(style("{spinner} {msg:12} {human_pos} records, {elapsed}"));
        self.bar.set_position(done);
    }
}

/// The bar goes when the work is over, however it ended.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        BARS.remove(&self.bar);
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}
