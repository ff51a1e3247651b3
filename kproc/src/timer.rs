//! Punctuation: what fires, by which clock, and when it is due next.

/// What a timer goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerClock {
    /// The wall clock.
    Wall,
    /// Stream time: the highest timestamp that the task has seen. It stands still while no records come.
    Stream,
}

/// A timer made by `ctx.schedule`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub(crate) u64);

/// Which timer fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// One that was declared, by its number.
    Every(usize),
    /// One that was made by `ctx.schedule`.
    Scheduled(TimerId),
}
