//! A crate that denies every lint of the compiler and of clippy, and forbids `unsafe`: none of them finds anything in
//! what kproc's macros write, nor in what kproc asks of its users.
//!
//! Clippy sees it with the rest of the workspace; the test `clippy` sees to it that it is looked at.

#![forbid(unsafe_code)]
#![deny(warnings, future_incompatible, nonstandard_style, rust_2018_idioms, unused)]
#![deny(
    absolute_paths_not_starting_with_crate,
    ambiguous_negative_literals,
    closure_returning_async_block,
    deprecated_in_future,
    deprecated_safe_2024,
    deref_into_dyn_supertrait,
    edition_2024_expr_fragment_specifier,
    explicit_outlives_requirements,
    ffi_unwind_calls,
    if_let_rescope,
    impl_trait_overcaptures,
    impl_trait_redundant_captures,
    keyword_idents,
    let_underscore_drop,
    macro_use_extern_crate,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    missing_unsafe_on_extern,
    non_ascii_idents,
    redundant_imports,
    redundant_lifetimes,
    rust_2024_guarded_string_incompatible_syntax,
    rust_2024_incompatible_pat,
    rust_2024_prelude_collisions,
    single_use_lifetimes,
    tail_expr_drop_order,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unsafe_attr_outside_unsafe,
    unsafe_op_in_unsafe_fn,
    unstable_features,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
#![allow(
    clippy::absolute_paths,
    clippy::arbitrary_source_item_ordering,
    clippy::blanket_clippy_restriction_lints,
    clippy::implicit_return,
    clippy::partial_pub_fields,
    clippy::question_mark_used,
    reason = "how this file is written"
)]

extern crate alloc;

use alloc::rc::Rc;
use core::future::ready;
use kproc::{
    Codec, Context, Json, Result, StoreError, Table, TimerId, Timestamp, Topic, codec::Encode, processor,
};
use serde::{Deserialize, Serialize};

/// What is ordered.
#[derive(Serialize, Deserialize, Codec, Clone, Debug)]
#[codec(json)]
#[non_exhaustive]
pub struct Order<'rec> {
    /// How many.
    pub count: u64,
    /// What.
    pub sku: &'rec str,
}

/// An event.
#[derive(Serialize, Deserialize, Codec, Clone, Debug)]
#[codec(postcard)]
#[non_exhaustive]
pub enum Event<Value> {
    /// None.
    Nothing,
    /// Some.
    Something(Value),
}

/// Borrows, compactly.
#[derive(Serialize, Deserialize, Codec, Clone, Debug)]
#[codec(postcard)]
#[non_exhaustive]
pub struct Small<'rec, Value> {
    /// What.
    pub sku: &'rec str,
    /// More.
    pub value: Value,
}

/// Copied, and large.
#[derive(Serialize, Deserialize, Codec, Clone, Copy, Debug)]
#[codec(postcard)]
#[non_exhaustive]
pub struct Large {
    /// Numbers.
    pub numbers: [[u64; 32]; 2],
}

/// Orders by customer.
pub const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");
/// How many of each.
pub const COUNTS: Topic<String, u64> = Topic::new("counts");
/// Pairs.
pub const PAIRS: Topic<(String, i64), Vec<u8>> = Topic::new("pairs");
/// Bytes.
pub const BYTES: Topic<String, [u8; 4]> = Topic::new("bytes");
/// More of them.
pub const OTHER_BYTES: Topic<String, [u8; 4]> = Topic::new("other-bytes");
/// Sizes.
pub const SIZES: Topic<String, Large> = Topic::new("sizes");
/// Flags.
pub const FLAGS: Topic<String, bool> = Topic::new("flags");
/// Lists.
pub const LISTS: Topic<String, Json<Vec<u64>>> = Topic::new("lists");

/// Counts what is ordered.
#[processor(name = "orders")]
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Counter {
    /// How many of each.
    #[state(changelog = false)]
    counts: Table<String, u64>,
    /// Records seen.
    pub seen: u64,
    /// Events.
    #[state(name = "others")]
    events: Table<u64, Event<u64>>,
}

#[processor(sends(COUNTS, PAIRS))]
impl Counter {
    /// A handler.
    #[on_message(PAIRS)]
    fn bytes(&mut self, (_name, _number): (&str, i64), bytes: &[u8]) {
        self.note(bytes.len());
    }

    /// A handler.
    #[on_message(ORDERS, start = latest)]
    async fn count(&mut self, ctx: &mut Context<'_>, order: Order<'_>) -> Result<()> {
        self.seen = self.seen.saturating_add(1);
        ready(()).await;
        let mut count = self.counts.entry(order.sku)?.or_default();
        *count = count.saturating_add(order.count);
        ctx.send(&COUNTS, order.sku, &*count)?;
        Ok(())
    }

    /// A handler.
    #[on_message(FLAGS)]
    fn flagged(&mut self, _ctx: &mut Context<'_>, name: Option<&str>, flag: Option<bool>) {
        self.note(usize::from(name.is_some() && flag.is_some()));
    }

    /// A handler.
    #[every("1m", stream_time)]
    fn forget(&mut self, now: Timestamp) {
        self.seen = u64::from(now == Timestamp::EPOCH);
    }

    /// A handler.
    #[every("2m", stream_time)]
    fn forget_more(&mut self, _ctx: &mut Context<'_>, now: Timestamp) {
        self.seen = u64::from(now == Timestamp::EPOCH);
    }

    /// A handler.
    #[every("1d")]
    async fn never(&mut self) {}

    /// A handler.
    #[on_message(LISTS)]
    fn list(&mut self, list: Vec<u64>) -> core::result::Result<(), StoreError> {
        for number in list {
            self.events.put(&number, &Event::Something(number))?;
        }
        Ok(())
    }

    /// A handler.
    #[on_start]
    fn begin(&mut self) {}

    /// A handler.
    #[on_stop]
    async fn end(&mut self, _ctx: &mut Context<'_>) {}

    /// A handler.
    #[on_schedule]
    fn fired(&mut self, _ctx: &mut Context<'_>, _timer: TimerId, _now: Timestamp) {}

    /// A handler that takes what is small by reference, as it is lent, and whose future stays on its thread.
    #[on_message(BYTES)]
    async fn four(&self, bytes: &[u8; 4]) {
        let shared = Rc::new(bytes.len());
        ready(()).await;
        drop(shared);
    }

    /// The same without waiting.
    #[on_message(OTHER_BYTES)]
    fn other_four(&mut self, bytes: &[u8; 4]) {
        self.note(bytes.len());
    }

    /// A handler that has the name of a method of the trait, and looks at the context only.
    #[on_message(SIZES)]
    fn process(&mut self, ctx: &mut Context<'_>, sizes: Large) {
        self.note(sizes.numbers.len());
        self.seen = u64::from(ctx.wall_time() == Timestamp::EPOCH);
    }

    /// Notes.
    fn note(&mut self, number: usize) {
        self.seen = self
            .seen
            .saturating_add(u64::try_from(number).unwrap_or(u64::MAX));
    }
}

/// Keeps the last of each.
#[processor]
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Keep<Value> {
    /// The last of each.
    #[state]
    last: Table<String, Value>,
}

#[processor]
impl<Value> Keep<Value>
where
    Value: Codec + 'static,
    for<'rec> Value::Item<'rec>: Encode<Value>,
{
    /// What is read.
    const INPUT: Topic<String, Value> = Topic::new("input");

    /// A handler.
    #[on_message(Self::INPUT)]
    fn keep(&mut self, key: &str, value: Value::Item<'_>) -> Result<()> {
        Ok(self.last.put(key, &value)?)
    }

    /// A handler.
    #[on_schedule]
    fn fired(&mut self, _timer: TimerId) {}
}

/// Faults of its own, each for another group of lints: they are found inside of what kproc's macros stand on.
#[cfg(feature = "faults")]
mod faults;
