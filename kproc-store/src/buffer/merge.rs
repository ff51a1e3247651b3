//! A range of a store in key order: the overlay's entries merged with those of LMDB.

use std::{cell::Ref, cmp::Ordering, ops::Bound};

use super::{
    Base,
    overlay::{Index, Overlay, State},
    sorted::Sorted,
};
use crate::{StoreError, environment::BaseRange};

/// Encoded bounds of a range.
pub(crate) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// An encoded key and its encoded value.
pub(crate) type Pair<'a> = (&'a [u8], &'a [u8]);

/// Entries of a store, encoded, in key order.
pub(crate) struct Merge<'b> {
    base: BaseRange<'b>,
    /// The next entry of LMDB, if it was read already.
    base_next: Option<Pair<'b>>,
    over: Over<'b>,
}

/// The overlay's part of the range.
struct Over<'b> {
    overlay: &'b Overlay,
    sorted: Option<Ref<'b, Sorted>>,
    next: usize,
    end: usize,
}

impl<'b> Over<'b> {
    /// The next slot that says something: one whose write was undone does not.
    #[inline]
    fn peek(&mut self) -> Option<(Index, &'b [u8])> {
        let sorted = self.sorted.as_ref()?;
        while self.next < self.end {
            let index = sorted.slots()[self.next];
            if self.overlay.slot(index).state != State::Unknown {
                return Some((index, self.overlay.key(index)));
            }
            self.next += 1;
        }
        None
    }
}

impl<'b> Merge<'b> {
    /// `sorted` is complete, or `None` if the overlay is empty.
    pub(super) fn new(
        base: &'b Base,
        overlay: &'b Overlay,
        sorted: Option<Ref<'b, Sorted>>,
        bounds: Bounds<'_>,
    ) -> Result<Self, StoreError> {
        let (next, end) = sorted.as_ref().map_or((0, 0), |sorted| {
            let start = match bounds.0 {
                Bound::Unbounded => 0,
                Bound::Included(first) => sorted.position(overlay, |key| key < first),
                Bound::Excluded(before) => sorted.position(overlay, |key| key <= before),
            };
            let end = match bounds.1 {
                Bound::Unbounded => overlay.len(),
                Bound::Included(last) => sorted.position(overlay, |key| key <= last),
                Bound::Excluded(after) => sorted.position(overlay, |key| key < after),
            };
            (start, end)
        });
        Ok(Self {
            base: base.range(bounds)?,
            base_next: None,
            over: Over {
                overlay,
                sorted,
                next,
                end,
            },
        })
    }

    /// The next entry.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Pair<'b>>, StoreError> {
        loop {
            if self.base_next.is_none() {
                self.base_next = self.base.next()?;
            }
            let Some((index, key)) = self.over.peek() else {
                return Ok(self.base_next.take());
            };
            match self.base_next.map(|(base, _)| base.cmp(key)) {
                Some(Ordering::Less) => return Ok(self.base_next.take()),
                Some(Ordering::Equal) => self.base_next = None,
                Some(Ordering::Greater) | None => {}
            }
            self.over.next += 1;
            if let Some(value) = self.over.overlay.value(index) {
                return Ok(Some((key, value)));
            }
        }
    }
}
