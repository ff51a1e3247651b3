//! `main!` takes processors.

kproc::main!(String);
//~^
