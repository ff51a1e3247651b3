//! What the engine sees of any store: a buffer of bytes over what the disk holds. Types live in `table`.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use crate::StoreError;

/// A store's name and types, as its environment keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSpec {
    /// The name, unique within its processor.
    pub name: Cow<'static, str>,
    /// What kind of store: `table`.
    pub kind: &'static str,
    /// Name of the key's encoding.
    pub key: Cow<'static, str>,
    /// Name of the value's encoding.
    pub value: Cow<'static, str>,
}

/// A field that keeps state. Implemented by kproc's own stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store",
    label = "not a store",
    note = "`#[state]` goes on fields of type `Table`; every other field is plain Rust and needs no attribute"
)]
pub trait Store: Send {
    /// The store's kind and types, under this name.
    fn spec(&self, name: Cow<'static, str>) -> StoreSpec;

    /// Opens the store: from here on its methods work.
    fn attach(&mut self, buffer: Buffer);

    /// Closes the store and gives back its buffer, if it was open.
    fn detach(&mut self) -> Option<Buffer>;

    /// The open buffer.
    fn buffer(&mut self) -> Option<&mut Buffer>;
}

/// Shared by the buffers of one task: where the current record begins, and whether a guard failed in it.
///
/// Beginning a record costs one store to memory however many stores the task has: each buffer notices at its
/// next write that a new record has begun, and forgets what it could have undone of the one before.
#[derive(Debug, Default)]
pub struct Marks {
    record: AtomicU64,
    failed: AtomicBool,
}

impl Marks {
    /// A new record begins; what was written before can no longer be undone singly.
    pub fn begin(&self) {
        // One thread at a time; the atomics are there because a task at rest may move.
        self.record.store(self.record.load(Relaxed) + 1, Relaxed);
    }

    /// The number of the current record.
    pub fn record(&self) -> u64 {
        self.record.load(Relaxed)
    }

    /// A guard could not write its value back.
    pub fn fail(&self) {
        self.failed.store(true, Relaxed);
    }

    /// Whether a guard has failed.
    pub fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Forgets the failure.
    pub fn clear_failure(&self) {
        self.failed.store(false, Relaxed);
    }
}

/// A store, open: what was written since the last commit (the overlay), over a read transaction of what the
/// environment holds. `Send`, so that a task at rest may move to another thread; not `Sync`.
pub struct Buffer {}

#[allow(clippy::todo, clippy::unused_self, unused_variables)]
impl Buffer {
    /// The value under an encoded key.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        todo!()
    }

    /// Writes a value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        todo!()
    }

    /// Deletes a key; it need not exist.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), StoreError> {
        todo!()
    }

    /// Takes back what was written since [`Marks::begin`].
    pub fn undo(&mut self) {
        todo!()
    }

    /// Drops all that was written since the last commit.
    pub fn discard(&mut self) {
        todo!()
    }

    /// Calls `each` with every key written since the last commit and its value (`None`: deleted), in key
    /// order: the changelog records of a commit.
    pub fn dirty(&mut self, each: &mut dyn FnMut(&[u8], Option<&[u8]>)) {
        todo!()
    }

    /// Whether anything was written since the last commit.
    pub fn is_dirty(&self) -> bool {
        todo!()
    }

    /// Memory that the overlay takes, in bytes, about.
    pub fn overlay_bytes(&self) -> usize {
        todo!()
    }

    /// The error that a guard (`entry`) could not return, if there was one since the last call.
    pub fn take_failure(&mut self) -> Option<StoreError> {
        todo!()
    }
}
