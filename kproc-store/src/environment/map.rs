//! LMDB's memory map, which can be lost: to change its size LMDB gives up the old one before it asks for the new one, and if
//! it does not get that, whatever reads or writes next ends the process.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

use heed::{Env, WithoutTls};

/// LMDB, as long as it has its map.
pub(super) struct Mapped {
    env: Env<WithoutTls>,
    lost: AtomicBool,
}

impl Mapped {
    pub(super) fn new(env: Env<WithoutTls>) -> Self {
        let lost = AtomicBool::new(false);
        Self { env, lost }
    }

    pub(super) fn env(&self) -> heed::Result<&Env<WithoutTls>> {
        if self.lost.load(SeqCst) {
            let what =
                "there was no room for a larger memory map, and it has lost the old one: open it again";
            return Err(heed::Error::Io(io::Error::new(io::ErrorKind::OutOfMemory, what)));
        }
        Ok(&self.env)
    }

    /// Changes its size. On an error, it is lost.
    ///
    /// # Safety
    ///
    /// No transaction of this process may be open on it.
    pub(super) unsafe fn resize(&self, size: usize) -> heed::Result<()> {
        // SAFETY: our caller says the same.
        let resized = unsafe { self.env()?.resize(size) };
        if resized.is_err() {
            self.lost.store(true, SeqCst);
        }
        resized
    }
}
