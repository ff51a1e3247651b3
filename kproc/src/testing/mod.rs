#![doc = include_str!("../../docs/testing.md")]

// What may be here: ways to drive the runtime and to look at it. What may not: copies of anything that
// production runs, or a way to make it behave otherwise than in production.

#[cfg(test)]
pub(crate) mod ambush;
mod builder;
mod client;
pub(crate) mod clock;
#[cfg(test)]
pub(crate) mod coverage;
mod driver;
mod driver_life;
mod error;
pub(crate) mod exec;
pub(crate) mod faults;
mod instance;
mod mailbox;
mod message;
pub(crate) mod mishaps;
mod received;
pub(crate) mod sim;
mod stage;

pub use builder::TestDriverBuilder;
pub use driver::TestDriver;
pub use error::DriverError;
pub use message::TestMessage;
pub use received::Received;

pub use crate::engine::Fired;
