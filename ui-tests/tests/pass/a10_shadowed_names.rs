//! Nothing that a module names can change what generated code means.

#![deny(warnings)]
#![no_implicit_prelude]
#![allow(
    dead_code,
    unused_macros,
    non_snake_case,
    clippy::unnecessary_wraps,
    clippy::default_trait_access
)]

use ::kproc::{Context, Table, Topic, processor};

type Result<T> = [T; 3];
struct Option;
struct Vec;
struct Box;
struct Cow;
struct State;
struct Processor;
struct Duration;
trait Default {}
fn Ok() {}
fn Some() {}
fn Err() {}
mod std {}
mod core {}
mod kproc {}
macro_rules! assert {
    () => {};
}

const WORDS: Topic<::std::string::String, i64> = Topic::new("words");

#[processor(name = "shadowed")]
struct Totals {
    #[state]
    totals: Table<::std::string::String, i64>,
    plain: u64,
}

#[processor(sends(WORDS))]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _ctx: &mut Context<'_>, _word: &str, _n: i64) -> ::kproc::Result<()> {
        ::core::result::Result::Ok(())
    }

    #[every("1s")]
    async fn publish(&mut self) -> ::core::result::Result<(), ::kproc::StoreError> {
        ::core::result::Result::Ok(())
    }

    #[on_start]
    fn start(&mut self) {}

    #[on_stop]
    fn stop(&mut self) {}

    #[on_schedule]
    fn punctuate(&mut self) {}
}

#[test]
fn builds() {
    let _ = ::kproc::App::new("app").processor_with(|| Totals {
        totals: ::std::default::Default::default(),
        plain: 3,
    });
}
