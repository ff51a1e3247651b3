//! File descriptors: each environment takes three, and the usual limit is 1,024 per process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::process::{Resource, getrlimit, setrlimit};

/// LMDB's data and lock file, the data file once more for synced writes, our own lock file.
const PER_ENVIRONMENT: u64 = 4;
/// For everything else that the process has open.
const OTHERS: u64 = 256;

static OPENED: AtomicU64 = AtomicU64::new(0);

/// Raises the soft limit, as far as the hard one allows, if one more environment might not fit.
///
/// Counts every opening and no closing: the limit costs nothing, and a process that opens many has many.
pub(super) fn reserve() {
    let needed = (OPENED.fetch_add(1, Relaxed) + 1) * PER_ENVIRONMENT + OTHERS;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        let wanted = needed.next_power_of_two();
        let allowed = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        limit.current = Some(allowed);
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            // If it matters, opening the files will say so.
            tracing::debug!(%error, allowed, "the limit of open files cannot be raised");
        }
    }
}
