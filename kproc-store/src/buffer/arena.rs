//! Bytes of keys and values, one after the other in one allocation, so that writing a warm key allocates nothing.

/// A place in an [`Arena`]: `len` bytes, with `room` for more.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    start: usize,
    len: u32,
    room: u32,
}

/// Grows at its end only. A value that outgrows its place gets a new one and leaves garbage, which
/// [`Arena::rebuild`] drops.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    garbage: usize,
}

/// Less garbage than this is not worth a rebuild.
const GARBAGE: usize = 64 << 10;

impl Arena {
    #[inline]
    pub(super) fn get(&self, span: Span) -> &[u8] {
        &self.bytes[span.start..span.start + span.len as usize]
    }

    /// Adds bytes that will not change.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Span {
        let (start, len) = (self.bytes.len(), length(bytes));
        self.bytes.extend_from_slice(bytes);
        Span {
            start,
            len,
            room: len,
        }
    }

    /// Replaces the bytes at `span`, in place if there is room.
    #[inline]
    pub(super) fn replace(&mut self, span: &mut Span, bytes: &[u8]) {
        let len = length(bytes);
        if len > span.room {
            self.garbage += span.room as usize;
            *span = Span {
                start: self.bytes.len(),
                len,
                room: roomy(len),
            };
            self.bytes.resize(span.start + span.room as usize, 0);
        }
        span.len = len;
        self.bytes[span.start..span.start + bytes.len()].copy_from_slice(bytes);
    }

    /// Whether half of it is garbage.
    #[inline]
    pub(super) fn is_wasteful(&self) -> bool {
        self.garbage > GARBAGE && self.garbage > self.bytes.len() / 2
    }

    /// Copies the spans that are still used to a new arena.
    pub(super) fn rebuild<'s>(&mut self, used: impl Iterator<Item = &'s mut Span>) {
        let mut new = Vec::with_capacity(self.bytes.len() - self.garbage);
        for span in used {
            let start = new.len();
            new.extend_from_slice(self.get(*span));
            *span = Span {
                start,
                len: span.len,
                room: span.len,
            };
        }
        *self = Self {
            bytes: new,
            garbage: 0,
        };
    }

    /// Memory taken.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets everything, and gives back memory that was not needed lately.
    pub(super) fn clear(&mut self) {
        let used = self.bytes.len();
        self.bytes.clear();
        self.garbage = 0;
        if self.bytes.capacity() > 4 * used {
            self.bytes.shrink_to(2 * used);
        }
    }
}

/// Lengths are checked against the environment's limits before; these are below 4 GiB.
#[inline]
fn length(bytes: &[u8]) -> u32 {
    debug_assert!(
        u32::try_from(bytes.len()).is_ok(),
        "limits of keys and values are below 4 GiB"
    );
    bytes.len() as u32
}

/// Room for a value that has just been that long: a value that grows step by step is not moved at each step.
#[inline]
fn roomy(len: u32) -> u32 {
    len.saturating_add(len / 8).saturating_add(7) & !7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_in_place_while_it_fits() {
        let mut arena = Arena::default();
        let mut span = Span::default();
        arena.replace(&mut span, b"12345678");
        let start = span.start;
        arena.replace(&mut span, b"1");
        arena.replace(&mut span, b"87654321");
        assert_eq!((span.start, arena.get(span)), (start, &b"87654321"[..]));
        arena.replace(&mut span, &[7; 100]);
        assert_ne!(span.start, start);
        assert_eq!(arena.get(span), [7; 100]);
    }

    #[test]
    fn a_rebuild_keeps_what_is_used() {
        let mut arena = Arena::default();
        let mut key = arena.push(b"key");
        let mut value = Span::default();
        for length in 1..20_000 {
            arena.replace(&mut value, &vec![1; length]);
        }
        assert!(arena.is_wasteful());
        arena.rebuild([&mut key, &mut value].into_iter());
        assert!(!arena.is_wasteful());
        assert_eq!(arena.get(key), b"key");
        assert_eq!(arena.get(value), vec![1; 19_999]);
    }
}
