//! Codecs and local state for kproc.
//!
//! This crate turns typed keys and values into bytes and back ([`codec`]), and keeps bytes under keys on the
//! local disk ([`Environment`], [`Table`]). It knows nothing of Kafka: a changelog is here no more than a
//! number, the [`Offset`] that the state corresponds to, stored inside the transaction that holds the state.
//!
//! Users depend on the crate `kproc`, which re-exports what they need.
//!
//! ```
//! use std::sync::Arc;
//! use kproc_store::{
//!     CommitPoint, Condition, Environment, EnvironmentOptions, Marks, Offset, Store, Table,
//! };
//!
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let mut totals = Table::<String, i64>::default();
//! let stores = [totals.spec("totals".into())];
//! let opened = Environment::open(directory, &stores, &EnvironmentOptions::default())?;
//! assert_eq!(opened.condition, Condition::New);
//! let environment = opened.environment;
//!
//! // A task opens its tables, and says where each of its records begins.
//! let marks = Arc::new(Marks::default());
//! totals.attach(environment.buffer(0, &marks)?);
//! marks.begin();
//! *totals.entry("plum")?.or_default() += 3;
//! marks.begin();
//! *totals.entry("plum")?.or_default() += 1000;
//! let buffer = totals.buffer().expect("it is open");
//! buffer.undo(); // this record failed
//!
//! // A commit: first to the changelog, then to the disk.
//! buffer.dirty(&mut |key, value| println!("{key:?} -> {value:?}"));
//! let point = CommitPoint { changelogs: vec![(0, Offset::new(1))], ..CommitPoint::default() };
//! environment.commit(&mut [(0, buffer)], &point)?;
//! assert_eq!(totals.get("plum")?, Some(3));
//! assert_eq!(environment.position(0)?, Some(Offset::new(1)));
//!
//! totals.detach();
//! environment.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_debug_implementations)]

mod buffer;
pub mod codec;
mod environment;
mod error;
mod lock;
mod marks;
mod store;
mod table;
mod vocabulary;

pub use buffer::Buffer;
pub use environment::{
    CommitPoint, Condition, DiskStep, Environment, EnvironmentOptions, Followed, Host, InputPosition,
    Inspector, Opened, StoreInfo,
};
pub use error::{OpenError, StoreError};
pub use lock::FileLock;
pub use marks::Marks;
pub use store::{Store, StoreSpec, StoreText};
pub use table::{Entry, Iter, Table, ValueMut};
pub use vocabulary::{Offset, Timestamp};
