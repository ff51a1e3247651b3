//! What was written (or loaded by `entry`) since the last commit, by key. Bytes only; knows nothing of LMDB.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table::Entry};

use super::arena::{Arena, Span};

/// Number of a slot. It stays the same until the overlay is cleared.
pub(super) type Index = u32;

/// No record has this number.
pub(super) const NEVER: u64 = u64::MAX;

/// What the overlay says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: look below. (Left over where a first write was undone.)
    Unknown,
    /// There is no value.
    Absent,
    /// The value is in the slot.
    Present,
}

/// One key.
#[derive(Debug)]
pub(super) struct Slot {
    hash: u64,
    key: Span,
    value: Span,
    pub(super) state: State,
    /// Written since the last commit, so that it belongs to the next.
    pub(super) dirty: bool,
    /// The last record that wrote here and whose undo log therefore knows what was there before.
    pub(super) record: u64,
}

/// A hash table of slots. Seeded alike in every process: a run can be repeated exactly.
pub(super) struct Overlay {
    by_key: HashTable<Index>,
    slots: Vec<Slot>,
    arena: Arena,
    dirty: usize,
    hasher: FixedState,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            by_key: HashTable::new(),
            slots: Vec::new(),
            arena: Arena::default(),
            dirty: 0,
            hasher: FixedState::with_seed(0x6b70_726f_6373_746f),
        }
    }
}

impl Overlay {
    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.finish()
    }

    /// The slot of a key.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<Index> {
        let found = self.by_key.find(self.hash(key), |&index| self.key(index) == key);
        found.copied()
    }

    /// The slot of a key; a new one is [`State::Unknown`].
    #[inline]
    pub(super) fn find_or_insert(&mut self, key: &[u8]) -> Index {
        let hash = self.hash(key);
        let Self {
            by_key, slots, arena, ..
        } = self;
        let same = |&index: &Index| arena.get(slots[index as usize].key) == key;
        match by_key.entry(hash, same, |&index| slots[index as usize].hash) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let index = slots.len() as Index;
                entry.insert(index);
                slots.push(Slot {
                    hash,
                    key: arena.push(key),
                    value: Span::default(),
                    state: State::Unknown,
                    dirty: false,
                    record: NEVER,
                });
                index
            }
        }
    }

    #[inline]
    pub(super) fn slot(&self, index: Index) -> &Slot {
        &self.slots[index as usize]
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, index: Index) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    #[inline]
    pub(super) fn key(&self, index: Index) -> &[u8] {
        self.arena.get(self.slot(index).key)
    }

    /// The value in a slot, if it is [`State::Present`].
    #[inline]
    pub(super) fn value(&self, index: Index) -> Option<&[u8]> {
        let slot = self.slot(index);
        (slot.state == State::Present).then(|| self.arena.get(slot.value))
    }

    /// Changes what a slot says.
    #[inline]
    pub(super) fn set(&mut self, index: Index, value: Option<&[u8]>, dirty: bool) {
        match value {
            Some(bytes) => {
                let slot = &mut self.slots[index as usize];
                self.arena.replace(&mut slot.value, bytes);
                slot.state = State::Present;
                if self.arena.is_wasteful() {
                    self.rebuild();
                }
            }
            None => self.slot_mut(index).state = State::Absent,
        }
        self.set_dirty(index, dirty);
    }

    #[inline]
    pub(super) fn set_dirty(&mut self, index: Index, dirty: bool) {
        let slot = &mut self.slots[index as usize];
        self.dirty = self.dirty + usize::from(dirty) - usize::from(slot.dirty);
        slot.dirty = dirty;
    }

    #[cold]
    fn rebuild(&mut self) {
        for slot in &mut self.slots {
            if slot.state != State::Present {
                slot.value = Span::default();
            }
        }
        self.arena.rebuild(
            self.slots
                .iter_mut()
                .flat_map(|slot| [&mut slot.key, &mut slot.value]),
        );
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many slots are dirty.
    pub(super) fn dirty(&self) -> usize {
        self.dirty
    }

    /// Memory taken, about.
    pub(super) fn bytes(&self) -> usize {
        self.arena.capacity()
            + self.slots.capacity() * size_of::<Slot>()
            + self.by_key.capacity() * (size_of::<Index>() + 1)
    }

    /// Forgets everything, and gives back memory that was not needed lately.
    pub(super) fn clear(&mut self) {
        let used = self.slots.len();
        self.by_key.clear();
        self.slots.clear();
        self.arena.clear();
        self.dirty = 0;
        if self.slots.capacity() > 4 * used {
            self.slots.shrink_to(2 * used);
            self.by_key.shrink_to(2 * used, |_| 0);
        }
    }
}
