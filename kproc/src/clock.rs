//! Time, as the engine and the runtime are given it.
//!
//! What may be here: the trait, and the one clock that asks the operating system. What may not: anything that
//! waits by other means, or knows what it is waiting for.

use std::{
    fmt,
    future::Future,
    hash::{BuildHasher, RandomState},
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::record::Timestamp;

/// A boxed future; not `Send`, for it stays on the thread that made it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Time, and what else must not come from the outside world: chance, and places to be interrupted at.
pub trait Clock: Send + Sync {
    /// Monotonic time since some beginning.
    fn now(&self) -> Duration;
    /// Wall time.
    fn wall(&self) -> Timestamp;
    /// Resolves at `due` (monotonic).
    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()>;
    /// A place between two pieces of sync code. Nothing in production; in the simulator a place to be delayed,
    /// or to die.
    fn point(&self, name: &'static str) -> BoxFuture<'static, ()> {
        let _ = name;
        Box::pin(std::future::ready(()))
    }
    /// Something begins that takes a while, and ends when what is returned is dropped. Nothing in production; simulations
    /// count what comes in between.
    fn passage(&self, name: &'static str) -> Passage {
        let _ = name;
        Passage::default()
    }
    /// Something happens that simulations count, by what it comes in between. Nothing in production.
    fn happens(&self, what: &'static str) {
        let _ = what;
    }
    /// A place at which simulations lie in wait. Nothing in production.
    fn comes_to(&self, place: &'static str) {
        let _ = place;
    }
    /// A random number.
    fn random(&self) -> u64;
}

/// Something that takes a while, until this is dropped: see [`Clock::passage`].
#[derive(Default)]
#[must_use = "it is over when this is dropped"]
pub struct Passage(Option<Box<dyn FnOnce() + Send>>);

impl Passage {
    /// One whose end somebody hears of.
    pub fn new(end: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passage").finish_non_exhaustive()
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// The operating system's clocks. Its sleeps need the tokio runtime of the thread they are on.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    random: AtomicU64,
}

impl SystemClock {
    /// A clock whose monotonic time begins now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where time comes from outside"
    )]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            random: AtomicU64::new(RandomState::new().hash_one(0)),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place where time comes from outside"
)]
impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::EPOCH.saturating_add(since_epoch)
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        let due = self.start.checked_add(due);
        // Lazily: the runtime is looked for where the sleep is waited for.
        Box::pin(async move {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        })
    }

    fn random(&self) -> u64 {
        mix(self.random.fetch_add(GOLDEN, Relaxed).wrapping_add(GOLDEN))
    }
}

/// The step of [`mix`]'s counter: 2^64 divided by the golden ratio.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// `SplitMix64`: a counter that advances by [`GOLDEN`], mixed, is a good random number.
pub(crate) const fn mix(counter: u64) -> u64 {
    let mut z = counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_advances_and_sleeps() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let clock = SystemClock::new();
        let due = clock.now() + Duration::from_millis(5);
        runtime.block_on(clock.sleep_until(due));
        assert!(clock.now() >= due);
        assert!(clock.wall() > Timestamp::from_millis(1_700_000_000_000));
        assert_ne!(clock.random(), clock.random());
    }
}
