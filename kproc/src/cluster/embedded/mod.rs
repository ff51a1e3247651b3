//! An in-process cluster.
