//! The attribute macros of kproc.
