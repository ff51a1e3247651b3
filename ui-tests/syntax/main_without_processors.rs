//! A program has at least one processor.

kproc::main!();
//~^
