//! Where the parts of an instance run.

use crate::clock::BoxFuture;

/// A future that is made where it runs, for it cannot move to another thread afterwards.
pub(crate) type Seed = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// Gives each part of an instance something to run on.
pub(crate) trait Spawner: Send + Sync {
    /// Runs `seed`'s future to its end, apart from the others.
    fn spawn(&self, name: String, seed: Seed) -> std::io::Result<()>;
}

/// A thread for each part, with a tokio runtime of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Threads;

impl Spawner for Threads {
    fn spawn(&self, name: String, seed: Seed) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new().name(name).spawn(move || {
            runtime.block_on(seed());
            // What a handler has left on the blocking pool must not hold a stop.
            runtime.shutdown_background();
        })?;
        Ok(())
    }
}
