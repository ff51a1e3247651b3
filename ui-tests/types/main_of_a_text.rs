//! `main!` takes types.

kproc::main!("totals");
//~^
