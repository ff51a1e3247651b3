//! The two numbers that state and records share. No arithmetic that could mix them up.

use std::fmt;

use jiff::Timestamp as Instant;

/// A place in a partition's log: the number of a record, or of the next record to read.
///
/// There is no "unset" offset: where a place may be unknown, it is an `Option<Offset>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(u64);

impl Offset {
    /// The first place of a log.
    pub const ZERO: Self = Self(0);

    /// The place with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of this place.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The place after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// How many places `self` is ahead of `earlier`; 0 if it is not ahead.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment: milliseconds since 1970-01-01T00:00:00Z, as in a Kafka record.
///
/// Zero is a moment like any other; "no timestamp" is `None` in an `Option<Timestamp>`. Moments before 1970
/// can be stored and compared, but a Kafka record cannot carry one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The moment this many milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The moment `by` later, or the last one there is.
    #[must_use]
    pub fn saturating_add(self, by: std::time::Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The moment `by` earlier, or the first one there is.
    #[must_use]
    pub fn saturating_sub(self, by: std::time::Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// As RFC 3339 in UTC (`2013-01-01T10:15:00Z`), or as `<millis> ms` where a calendar has no name for it.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Instant::from_millisecond(self.0) {
            Ok(instant) => instant.fmt(f),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}
