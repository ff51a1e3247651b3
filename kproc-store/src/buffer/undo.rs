//! What the current record has overwritten, so that it can be taken back if the record fails.

use super::overlay::{Index, NEVER, Overlay, State};

/// The undo log of one record.
///
/// Its memory is used again by the next record. It is not emptied when a record begins but at the first write in
/// a later one, so that beginning a record costs nothing here.
#[derive(Debug, Default)]
pub(super) struct Undo {
    record: u64,
    steps: Vec<Step>,
    values: Vec<u8>,
}

/// What a slot said before the record's first write to it. Its value is the last in [`Undo::values`].
#[derive(Debug)]
struct Step {
    slot: Index,
    state: State,
    dirty: bool,
    value_start: usize,
}

/// More memory than this is given back after a record with large values.
const KEEP: usize = 64 << 10;

impl Undo {
    /// To be called before `record` writes to the slot.
    #[inline]
    pub(super) fn log(&mut self, record: u64, overlay: &mut Overlay, slot: Index) {
        if self.record != record {
            self.clear();
            self.record = record;
        }
        if overlay.slot(slot).record != record {
            let value_start = self.values.len();
            let before = overlay.slot(slot);
            self.steps.push(Step {
                slot,
                state: before.state,
                dirty: before.dirty,
                value_start,
            });
            if let Some(value) = overlay.value(slot) {
                self.values.extend_from_slice(value);
            }
            overlay.slot_mut(slot).record = record;
        }
    }

    /// Takes back what `record` has written.
    pub(super) fn undo(&mut self, record: u64, overlay: &mut Overlay) {
        if self.record == record {
            while let Some(step) = self.steps.pop() {
                match step.state {
                    State::Unknown => {
                        overlay.slot_mut(step.slot).state = State::Unknown;
                        overlay.set_dirty(step.slot, step.dirty);
                    }
                    State::Absent => overlay.set(step.slot, None, step.dirty),
                    State::Present => {
                        overlay.set(step.slot, Some(&self.values[step.value_start..]), step.dirty);
                    }
                }
                // What the record writes from now on is logged anew.
                overlay.slot_mut(step.slot).record = NEVER;
                self.values.truncate(step.value_start);
            }
        }
    }

    /// Forgets everything: there is nothing to take back.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.values.clear();
        self.values.shrink_to(KEEP);
    }

    /// Memory taken.
    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() + self.steps.capacity() * size_of::<Step>()
    }
}
