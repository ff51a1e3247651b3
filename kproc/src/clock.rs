//! Time, as the engine and the runtime are given it.

use std::{future::Future, pin::Pin, time::Duration};

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
    /// A random number.
    fn random(&self) -> u64;
}
