//! A crate of a workspace that re-exports kproc to the others.

pub use kproc;
