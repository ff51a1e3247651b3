//! Running the real engine and runtime without a broker, deterministically.
//!
//! What may be here: the seeded executor with its virtual clock, and what is built on it. What may not: copies
//! of anything that production runs.

pub(crate) mod exec;
