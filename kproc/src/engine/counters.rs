//! What a task counts.

use super::inputs::Head;

/// What a task counts, from its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Records done. (Those passed over not included.)
    pub(crate) records: u64,
    /// Records passed over by a policy.
    pub(crate) skipped: u64,
    /// Times something was tried again.
    pub(crate) retried: u64,
    /// Records whose timestamp was before stream time.
    pub(crate) out_of_order: u64,
    /// Records whose timestamp was too far ahead of wall time to move stream time.
    pub(crate) too_far_ahead: u64,
}

impl Counters {
    /// A record that did not come at stream time and did not move it.
    #[inline]
    pub(super) fn count_out_of_place(&mut self, head: &Head) {
        match (head.timestamp, head.order) {
            (Some(_), Some(_)) => self.out_of_order += 1,
            (Some(_), None) => self.too_far_ahead += 1,
            (None, _) => {}
        }
    }
}
