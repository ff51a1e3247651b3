//! Codecs and local state for kproc.
//!
//! This crate turns typed keys and values into bytes and back ([`codec`]), and keeps bytes under keys on the
//! local disk ([`Environment`], [`Table`]). It knows nothing of Kafka: a changelog is here no more than a
//! number, the [`Offset`] that the state corresponds to, stored inside the transaction that holds the state.
//!
//! Users depend on the crate `kproc`, which re-exports what they need.

mod buffer;
pub mod codec;
mod environment;
mod error;
mod marks;
mod store;
mod table;
mod vocabulary;

pub use buffer::Buffer;
pub use environment::{
    CommitPoint, Condition, Environment, EnvironmentOptions, InputPosition, Inspector, Opened, StoreInfo,
};
pub use error::{OpenError, StoreError};
pub use marks::Marks;
pub use store::{Store, StoreSpec, StoreText};
pub use table::{Entry, Iter, Table, ValueMut};
pub use vocabulary::{Offset, Timestamp};
