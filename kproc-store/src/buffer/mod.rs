//! A store, open: an overlay of what was written since the last commit, over a read transaction of LMDB.
//!
//! What may be here: bytes under keys, undo, iteration, limits. What may not: types (see `table`), writing to
//! LMDB (see `environment`).

mod arena;
mod merge;
mod overlay;
mod sorted;
mod undo;

use std::{
    cell::{Cell, Ref, RefCell},
    sync::Arc,
};

pub(crate) use merge::{Bounds, Merge, Pair};

use self::{
    overlay::{Index, Overlay, State},
    sorted::Sorted,
    undo::Undo,
};
use crate::{Marks, StoreError, environment::Base};

/// A store, open: what was written since the last commit (the overlay), over a read transaction of what the
/// environment holds. `Send`, so that a task at rest may move to another thread; not `Sync`.
pub struct Buffer {
    base: Base,
    overlay: Overlay,
    undo: Undo,
    sorted: RefCell<Sorted>,
    marks: Arc<Marks>,
    failure: Option<StoreError>,
    /// What the changelog takes, if that is known: key and value, in bytes.
    most: Option<usize>,
    // Memory for encoding keys and values, used again and again by the typed stores.
    key_scratch: Cell<Vec<u8>>,
    value_scratch: Cell<Vec<u8>>,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("store", &self.name())
            .field("dirty", &self.dirty_len())
            .finish_non_exhaustive()
    }
}

/// Larger memory for encoding is not kept.
const SCRATCH: usize = 64 << 10;

impl Buffer {
    pub(crate) fn new(base: Base, marks: Arc<Marks>) -> Self {
        Self {
            base,
            overlay: Overlay::default(),
            undo: Undo::default(),
            sorted: RefCell::default(),
            marks,
            failure: None,
            most: None,
            key_scratch: Cell::default(),
            value_scratch: Cell::default(),
        }
    }

    /// The store's name.
    pub fn name(&self) -> &str {
        self.base.name()
    }

    /// The value under an encoded key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        if let Some(index) = self.overlay.find(key) {
            match self.overlay.slot(index).state {
                State::Present => return Ok(self.overlay.value(index)),
                State::Absent => return Ok(None),
                State::Unknown => {}
            }
        }
        self.base.get(key)
    }

    /// Keeps keys and values out that are longer together than this: what the changelog takes. It replaces
    /// [`EnvironmentOptions::max_value_bytes`](crate::EnvironmentOptions::max_value_bytes).
    pub fn limit_entries(&mut self, bytes: usize) {
        self.most = Some(bytes);
    }

    #[inline]
    fn check_entry(&self, key: usize, value: &[u8]) -> Result<(), StoreError> {
        match self.most {
            None => self.base.check_value(value),
            Some(most) if key + value.len() <= most => Ok(()),
            Some(most) => Err(self.entry_size(key + value.len(), most)),
        }
    }

    #[cold]
    fn entry_size(&self, length: usize, limit: usize) -> StoreError {
        StoreError::ChangelogSize {
            store: self.name().to_owned(),
            length,
            limit,
        }
    }

    /// Writes a value.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.base.check_key(key)?;
        self.check_entry(key.len(), value)?;
        let index = self.overlay.find_or_insert(key);
        self.write(index, Some(value));
        Ok(())
    }

    /// Deletes a key; it need not exist.
    #[inline]
    pub fn delete(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.base.check_key(key)?;
        let index = self.overlay.find_or_insert(key);
        self.write(index, None);
        Ok(())
    }

    #[inline]
    fn write(&mut self, index: Index, value: Option<&[u8]>) {
        self.undo.log(self.marks.record(), &mut self.overlay, index);
        self.overlay.set(index, value, true);
    }

    /// The slot of a key, loaded: for a change that looks the key up once.
    #[inline]
    pub(crate) fn load(&mut self, key: &[u8]) -> Result<Loaded, StoreError> {
        self.base.check_key(key)?;
        let index = self.overlay.find_or_insert(key);
        if self.overlay.slot(index).state == State::Unknown {
            let value = self.base.get(key)?;
            self.overlay.set(index, value, false);
        }
        Ok(Loaded(index))
    }

    /// The value in a loaded slot.
    #[inline]
    pub(crate) fn loaded(&self, slot: Loaded) -> Option<&[u8]> {
        self.overlay.value(slot.0)
    }

    /// Writes to a loaded slot.
    #[inline]
    pub(crate) fn write_loaded(&mut self, slot: Loaded, value: Option<&[u8]>) -> Result<(), StoreError> {
        if let Some(value) = value {
            self.check_entry(self.overlay.key(slot.0).len(), value)?;
        }
        self.write(slot.0, value);
        Ok(())
    }

    /// The entries within the bounds, in key order. Bounds that enclose nothing are fine.
    pub(crate) fn range(&self, bounds: Bounds<'_>) -> Result<Merge<'_>, StoreError> {
        let sorted = (self.overlay.len() > 0).then(|| self.sorted());
        Merge::new(&self.base, &self.overlay, sorted, bounds)
    }

    /// How many entries there are. Looks up what the overlay holds, and counts nothing else.
    pub(crate) fn len(&self) -> Result<usize, StoreError> {
        let mut length = self.base.len()? as usize;
        for index in 0..self.overlay.len() as Index {
            let now = match self.overlay.slot(index).state {
                State::Unknown => continue,
                State::Absent => false,
                State::Present => true,
            };
            let before = self.base.get(self.overlay.key(index))?.is_some();
            length = length + usize::from(now) - usize::from(before);
        }
        Ok(length)
    }

    /// All slots in key order.
    fn sorted(&self) -> Ref<'_, Sorted> {
        // An iterator holds a `Ref` while it lives. Nothing can be written meanwhile, since it borrows the
        // buffer: the order it has made sure to be complete still is, and is not changed under it.
        if !self.sorted.borrow().is_complete(&self.overlay) {
            self.sorted.borrow_mut().update(&self.overlay);
        }
        self.sorted.borrow()
    }

    /// Takes back what was written since [`Marks::begin`].
    pub fn undo(&mut self) {
        self.undo.undo(self.marks.record(), &mut self.overlay);
    }

    /// Drops all that was written since the last commit.
    pub fn discard(&mut self) {
        self.overlay.clear();
        self.sorted.get_mut().clear();
        self.undo.clear();
        self.failure = None;
    }

    /// Calls `each` with every key written since the last commit and its value (`None`: deleted), in key
    /// order: the changelog records of a commit.
    #[allow(clippy::type_complexity)] // A name would hide what is seen here at once.
    pub fn dirty(&mut self, each: &mut dyn FnMut(&[u8], Option<&[u8]>)) {
        for (key, value) in self.dirty_entries() {
            each(key, value);
        }
    }

    /// What was written since the last commit, in key order.
    pub(crate) fn dirty_entries(&mut self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let Self { sorted, overlay, .. } = self;
        let (sorted, overlay) = (sorted.get_mut(), &*overlay);
        let slots = if overlay.dirty() > 0 {
            sorted.update(overlay);
            sorted.slots()
        } else {
            &[]
        };
        slots
            .iter()
            .filter(|&&index| overlay.slot(index).dirty)
            .map(|&index| (overlay.key(index), overlay.value(index)))
    }

    /// How many keys were written since the last commit.
    pub fn dirty_len(&self) -> usize {
        self.overlay.dirty()
    }

    /// Whether anything was written since the last commit.
    pub fn is_dirty(&self) -> bool {
        self.overlay.dirty() > 0
    }

    /// Memory that the overlay takes, in bytes, about.
    pub fn overlay_bytes(&self) -> usize {
        self.overlay.bytes() + self.undo.bytes() + self.sorted.borrow().bytes()
    }

    /// The error that a guard (`entry`) could not return, if there was one since the last call.
    pub fn take_failure(&mut self) -> Option<StoreError> {
        self.failure.take()
    }

    /// Keeps the first error of a guard, and tells the engine to look for it.
    #[cold]
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.failure.get_or_insert(error);
        self.marks.fail();
    }

    /// Takes the memory for keys; to be given back.
    #[inline]
    pub(crate) fn take_key_scratch(&self) -> Vec<u8> {
        let mut key = self.key_scratch.take();
        key.clear();
        key
    }

    /// Gives back the memory for keys.
    #[inline]
    pub(crate) fn give_key_scratch(&self, key: Vec<u8>) {
        if key.capacity() <= SCRATCH {
            self.key_scratch.set(key);
        }
    }

    /// Takes the memory for values; to be given back.
    #[inline]
    pub(crate) fn take_value_scratch(&self) -> Vec<u8> {
        let mut value = self.value_scratch.take();
        value.clear();
        value
    }

    /// Gives back the memory for values.
    #[inline]
    pub(crate) fn give_value_scratch(&self, value: Vec<u8>) {
        if value.capacity() <= SCRATCH {
            self.value_scratch.set(value);
        }
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    pub(crate) fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

/// A slot that holds what the store holds under its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loaded(Index);

const _: () = {
    const fn send<T: Send>() {}
    send::<Buffer>();
};
