//! Tests without a broker: the real engine and runtime, on the embedded cluster, under a seeded executor with a
//! virtual clock.
//!
//! What may be here: ways to drive the runtime and to look at it. What may not: copies of anything that
//! production runs, or a way to make it behave otherwise than in production.

mod error;
#[allow(dead_code, reason = "the test driver is built on it")]
pub(crate) mod exec;
#[allow(dead_code, reason = "the test driver is built on it")]
mod received;
#[allow(dead_code, reason = "the test driver is built on it")]
pub(crate) mod sim;

pub use error::DriverError;
pub use received::Received;
