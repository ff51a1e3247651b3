//! Compile-fail and compile-pass tests of the macros.
