//! From tokens to syntax: the items that users annotate, and the arguments of the attributes.
//!
//! What may be here: reading. Whether what was read makes sense is the business of `check`.

pub(crate) mod arguments;
pub(crate) mod item;
pub(crate) mod options;
pub(crate) mod unfinished;
