//! An example.
fn main() {}
