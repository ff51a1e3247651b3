//! The machine of a slot: which boot of it this is, whether its disk takes what is written, and what can happen to the
//! files on it while nobody uses them.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use kproc_store::{DiskStep, Host, Inspector};

use super::harm::{self, Harm, environments};
use crate::{Clock, testing::clock::SimClock};

/// What a disk says when it does not take something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskTrouble {
    Full,
    Broken,
}

impl DiskTrouble {
    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Self::Full => 28,
            Self::Broken => 5,
        })
    }
}

/// See the module.
pub(super) struct Machine {
    clock: SimClock,
    name: &'static str,
    boot: AtomicU64,
    /// Whether files were harmed, on any machine: those that are damaged are no news then.
    harmed: Arc<AtomicBool>,
    trouble: Mutex<Option<(DiskTrouble, Duration)>>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("boot", &self.boot)
            .finish_non_exhaustive()
    }
}

impl Host for Machine {
    fn boot(&self) -> Option<String> {
        Some(format!("boot {} of {}", self.boot.load(Relaxed), self.name))
    }

    fn allow(&self, _: DiskStep) -> io::Result<()> {
        let trouble = *self.trouble.lock().unwrap();
        match trouble {
            // Not always: what comes after the first refusal is to be reached, too.
            Some((trouble, until)) if self.clock.now() < until && self.clock.random() & 1 == 0 => {
                Err(trouble.error())
            }
            _ => Ok(()),
        }
    }

    /// What was copied from another machine is told from what is its own, and what was copied here is not. (A real file's number
    /// is another one in each run.)
    fn original(&self, _: &File) -> Option<String> {
        Some(format!("of {}", self.name))
    }
}

impl Machine {
    pub(super) fn new(name: &'static str, clock: SimClock, harmed: Arc<AtomicBool>) -> Self {
        Self {
            clock,
            name,
            boot: AtomicU64::new(1),
            harmed,
            trouble: Mutex::default(),
        }
    }

    /// Files come to harm. Whether there were any.
    pub(super) fn harm(&self, harm: Harm, directory: &Path) -> bool {
        self.harmed.store(true, Relaxed);
        let environments = environments(directory);
        let mut found = environments.into_iter();
        // (What cannot be harmed any more is no reason to let the others off.)
        let harmed = found
            .by_ref()
            .filter(|environment| harm.befall(environment, self.trusts(environment)));
        harmed.count() > 0
    }

    /// Whether files have come to harm, here or elsewhere.
    pub(super) fn is_harmed(&self) -> bool {
        self.harmed.load(Relaxed)
    }

    /// From now on, and for a while, half of what is written is refused.
    pub(super) fn has_trouble(&self, trouble: DiskTrouble, time: Duration) {
        *self.trouble.lock().unwrap() = Some((trouble, self.clock.now() + time));
    }

    /// It takes everything again.
    pub(super) fn is_well(&self) {
        *self.trouble.lock().unwrap() = None;
    }

    /// Whether an environment would be opened as it is.
    pub(super) fn trusts(&self, environment: &Path) -> bool {
        let sidecar = fs::read_to_string(environment.join("state.json")).unwrap_or_default();
        let boot = self.boot().is_some_and(|boot| sidecar.contains(&boot));
        let harmed = self.harmed.load(Relaxed);
        (sidecar.contains("\"clean\":true") || boot)
            && sidecar.contains("\"damage\":null")
            && sidecar.contains("\"made\":true")
            // Its pages will be looked at: before that, nobody should open it.
            && !(harmed && harm::is_doubtful(&sidecar))
            && !(harmed && is_damaged(environment))
    }

    /// It is started again, and what was not synced is lost: where a file was not closed in good order, half of it. (What
    /// was brought here from another machine is on the disk.)
    pub(super) fn restart(&self, directory: &Path) {
        self.harmed.store(true, Relaxed);
        let before = self.boot().unwrap_or_default();
        self.boot.fetch_add(1, Relaxed);
        for environment in environments(directory) {
            let sidecar = fs::read_to_string(environment.join("state.json")).unwrap_or_default();
            if sidecar.contains(&before) && !sidecar.contains("\"clean\":true") {
                harm::lose_half(&environment);
            }
        }
    }
}

/// Whether a file cannot even be looked into.
fn is_damaged(environment: &Path) -> bool {
    Inspector::open(environment).is_err()
}

/// Puts a copy of a directory into the place of another. Whether there was one.
pub(super) fn copy(from: &Path, to: &Path) -> bool {
    if !from.exists() {
        return false;
    }
    let _ = fs::remove_dir_all(to);
    copy_all(from, to).unwrap();
    true
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
