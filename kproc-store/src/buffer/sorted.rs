//! The overlay's slots in key order. Made only when a store is ranged or committed, and kept up to date then.

use super::overlay::{Index, Overlay};

/// Slot numbers sorted by key. Covers the first `len()` slots of the overlay; later ones are added by `update`.
#[derive(Debug, Default)]
pub(super) struct Sorted(Vec<Index>);

/// Up to this many new keys are put in one by one; more are sorted and merged.
const FEW: usize = 8;

impl Sorted {
    /// Whether every slot of the overlay is in it.
    pub(super) fn is_complete(&self, overlay: &Overlay) -> bool {
        self.0.len() == overlay.len()
    }

    /// Adds the slots that are new since the last time.
    pub(super) fn update(&mut self, overlay: &Overlay) {
        let known = self.0.len();
        let new = known as Index..overlay.len() as Index;
        if new.len() <= FEW {
            for index in new {
                let at = self
                    .0
                    .partition_point(|&other| overlay.key(other) < overlay.key(index));
                self.0.insert(at, index);
            }
        } else {
            self.0.extend(new);
            // A sorted run with an unsorted tail: the stable sort finds the run and merges.
            self.0.sort_by(|&a, &b| overlay.key(a).cmp(overlay.key(b)));
        }
    }

    /// All slots, by key.
    pub(super) fn slots(&self) -> &[Index] {
        &self.0
    }

    /// Where the first slot is for which `before` is false.
    pub(super) fn position(&self, overlay: &Overlay, mut before: impl FnMut(&[u8]) -> bool) -> usize {
        self.0.partition_point(|&index| before(overlay.key(index)))
    }

    /// Memory taken.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Index>()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(1 << 12);
    }
}
