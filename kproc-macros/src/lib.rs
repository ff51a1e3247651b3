//! The attribute macros of kproc. Programs name them through the crate `kproc`.
//!
//! This file holds the entry points and what editors show for them. An expansion goes `pipeline` -> `parse` ->
//! `model` -> `check` -> `expand`: errors are collected on the way, each at its own place, and the user's item
//! comes out whatever is wrong with it. `attributes` is the vocabulary: the names of all attributes and options.
//!
//! Everything but this file works on `proc_macro2` tokens, so that it can be tested without a compiler around it.

mod attributes;
mod check;
mod derive;
mod duration;
mod errors;
mod expand;
#[cfg(test)]
mod fuzz;
mod known;
mod lints;
mod model;
mod parse;
mod pipeline;
mod sent;

use attributes::Helper;
use proc_macro::TokenStream;

/// Makes a struct and its methods a processor.
///
/// It stands twice: on the struct, whose `#[state]` fields are its stores, and on the struct's impl block, whose
/// marked methods are its handlers.
///
/// ```
/// use kproc::prelude::*;
///
/// const WORDS: Topic<String, i64> = Topic::new("words");
/// const TOTALS: Topic<String, i64> = Topic::new("totals");
///
/// #[processor]
/// #[derive(Default)]
/// struct Totals {
///     #[state]
///     totals: Table<String, i64>,
///     records: u64, // any other field is plain Rust
/// }
///
/// #[processor]
/// impl Totals {
///     #[on_message(WORDS)]
///     fn add(&mut self, word: &str, n: i64) -> Result<()> {
///         self.records += 1;
///         *self.totals.entry(word)?.or_default() += n;
///         Ok(())
///     }
///
///     #[every("1s")]
///     fn publish(&mut self, ctx: &mut Context<'_>) -> Result<()> {
///         for entry in self.totals.iter() {
///             let (word, total) = entry?;
///             ctx.send(&TOTALS, word, &total)?;
///         }
///         Ok(())
///     }
/// }
/// ```
///
/// The macro generates an `impl kproc::Processor` from the impl block, and from the struct a hidden `impl` that names its
/// stores to it; nothing that could not be written by hand. The struct and the methods stay as they are and can be used and
/// tested as such. The struct may be generic; it cannot have
/// lifetimes, for it outlives every record. The order of `#[processor]` and `#[derive(…)]` does not matter.
///
/// # Methods
///
/// | mark | called | arguments after `&mut self` |
/// |---|---|---|
/// | [`#[on_message(TOPIC)]`](macro@on_message) | for each record of a topic | `(value)`, `(key, value)`, `(ctx, value)` or `(ctx, key, value)` |
/// | [`#[every("10s")]`](macro@every) | when a period has passed | `ctx` and `now: Timestamp`, both optional |
/// | [`#[on_schedule]`](macro@on_schedule) | for timers made by `ctx.schedule` | `ctx`, `timer: TimerId`, `now: Timestamp`, all optional |
/// | [`#[on_start]`](macro@on_start) | when a task begins | `ctx`, optional |
/// | [`#[on_stop]`](macro@on_stop) | when a task ends in good order | `ctx`, optional |
///
/// `ctx` is `&mut Context<'_>`. A handler is a `fn` or an `async fn` and returns `()` or `Result<(), E>` for any
/// error that converts into a boxed one; `kproc::Result<()>` takes all of them by `?`, and texts:
/// `return Err("negative".into())`. A handler that fails leaves nothing of what it sent and stored behind; what
/// happens then is a matter of configuration. Plain fields are not rolled back: they keep what a handler did to
/// them before it failed, also when its record is then skipped or tried again. (After a panic the processor is
/// made anew.) What must agree with the records belongs in a `#[state]` field.
///
/// # Options on the struct
///
/// - `name = "…"`: the processor's name, instead of the struct's in kebab case. It is part of the names of its
///   changelog topics and state directories: whoever changes it begins anew.
/// - `crate = path`: see below.
///
/// ```
/// # use kproc::prelude::*;
/// # const WORDS: Topic<String, i64> = Topic::new("words");
/// #[processor(name = "word-totals")]
/// #[derive(Default)]
/// struct Totals {}
/// # #[processor]
/// # impl Totals {
/// #     #[on_message(WORDS)]
/// #     fn add(&mut self, _n: i64) {}
/// # }
/// # assert_eq!(<Totals as kproc::Processor>::name(), "word-totals");
/// ```
///
/// # Options on the impl block
///
/// - `sends(TOPIC, …)`: topics that the handlers send to. They must be there when the application starts, and it must be
///   allowed to write to them; what is sent to and not declared is found out when it is sent. Commands use them, too: `topology` and
///   `topics` show what is declared, `load` makes it, and `reset` passes over what the application itself has written.
/// - `crate = path`: see below.
///
/// ```
/// # use kproc::prelude::*;
/// # const WORDS: Topic<String, i64> = Topic::new("words");
/// # const TOTALS: Topic<String, i64> = Topic::new("totals");
/// # #[processor]
/// # #[derive(Default)]
/// # struct Totals {}
/// #[processor(sends(TOTALS))]
/// impl Totals {
///     #[on_message(WORDS)]
///     fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
///         Ok(ctx.send(&TOTALS, word, &n)?)
///     }
/// }
/// ```
///
/// # Where kproc is
///
/// Generated code names the crate as `::kproc`. Where it goes by another name, because `Cargo.toml` renames it
/// or because another crate re-exports it, say so on both halves: `#[processor(crate = facade::kproc)]`. For a
/// renamed dependency one line at the root of the crate does it for all processors:
/// `extern crate streams as kproc;`.
///
/// # Errors you may meet
///
/// - `` `Totals` is not marked `#[processor]` ``:
///   the impl block is marked and its struct is not: write `#[processor]` above both.
/// - `` `Totals` is not a processor``:
///   the other way round: the struct, or nothing, is marked. The impl block with the handlers needs `#[processor]`, too.
/// - `` `Totals` handles no message: mark the method that takes the records of a topic `#[on_message(TOPIC)]` ``:
///   a processor has one `#[on_message]` method at least.
/// - ``a processor cannot borrow: it outlives every record. Remove `'a` and own what the fields hold (`String` instead of `&str`)``:
///   a field keeps what outlives the record: `String`, or the item's owned form.
/// - ``conflicting implementations of trait `Processor` for type `Totals` ``:
///   two impl blocks of it are marked: put all handlers into one of them. Other methods may stay in a block without the mark.
/// - ``a context is lent to a handler for one call, so no field can keep it: …``:
///   each handler is given the context of its call, and hands it on to what it calls.
/// - ``a handler takes `&mut self` first: `fn add(&mut self, …)` ``:
///   handlers are methods: `&mut self`, or `&self`, comes before all else.
/// - ``a handler returns `()` or `Result<()>`, not `i64` ``:
///   what comes of a record is sent (`ctx.send`) or stored, and not returned.
/// - ``unknown option `nme`; did you mean `name`?``:
///   the options of each half are above.
#[proc_macro_attribute]
pub fn processor(options: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::expand(&options.into(), &item.into()).into()
}

/// Makes a type the key or value of a record.
///
/// The attribute `#[codec(json)]`, or `#[codec(postcard)]`, beside it says how it is written. What the bytes look
/// like in that format is decided by the type's own `#[derive(Serialize, Deserialize)]`. The type may have parameters, and lifetimes: then a
/// handler gets an item that borrows from the record, such as `Order<'_>`.
///
/// - `json`: readable by everyone. Text with escapes in it cannot be lent as `&str`: such a field
///   is a `String`, or a `Cow<'a, str>` with `#[serde(borrow)]`.
/// - `postcard`: small and fast, for types that do not change.
/// - `crate = path`: where kproc is, if not at `::kproc`.
///
/// ```
/// use kproc::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Codec)]
/// #[codec(json)]
/// struct Order<'a> {
///     sku: &'a str,
///     cents: u64,
/// }
///
/// const ORDERS: Topic<String, Order> = Topic::new("orders");
/// ```
///
/// # Errors you may meet
///
/// - `` `#[derive(Codec)]` needs a format: add `#[codec(json)]` or `#[codec(postcard)]` ``:
///   write one of the two beside the derive.
/// - ``unknown option `avro`: `#[codec]` has `json`, `postcard` and `crate = path` ``:
///   another format is a type of your own with `impl Codec`.
/// - ``serde cannot write and read `Order` ``:
///   the type needs both of serde's derives: `#[derive(Serialize, Deserialize, Codec)]`.
/// - `` `Plain` is not a record type``:
///   what is in a `Topic` or `Table` has a codec: derive one, or wrap a foreign type in `Json<T>` or `Postcard<T>`.
/// - `` `kproc::Json<Vec<u8>>` cannot be the key of a store``:
///   keys are in order and found by their bytes: use numbers, texts, bytes, or tuples of them.
/// - ``cannot find attribute `codec` in this scope``:
///   `#[codec(…)]` belongs to this derive: write `Codec` into `#[derive(…)]`.
#[proc_macro_derive(Codec, attributes(codec))]
pub fn codec(item: TokenStream) -> TokenStream {
    derive::codec(item.into()).into()
}

/// A field of a processor that keeps state: a `Table<K, V>`.
///
/// What is stored there survives restarts, and moves with its partition from process to process: every change
/// also goes to a changelog topic, `<application>-<processor>-<store>-changelog`, and is restored from there
/// before [`#[on_start]`](macro@on_start). Fields without `#[state]` are plain Rust: a new instance begins with
/// what its factory puts there.
///
/// # Options
///
/// - `name = "…"`: the store's name, instead of the field's.
/// - `changelog = false`: keeps the store on the local disk only. Faster, and lost with the disk, or when the
///   partition moves to another process.
///
/// ```
/// # use kproc::prelude::*;
/// # const WORDS: Topic<String, i64> = Topic::new("words");
/// #[processor]
/// #[derive(Default)]
/// struct Totals {
///     #[state]
///     totals: Table<String, i64>,
///     #[state(name = "latest", changelog = false)]
///     last_seen: Table<String, i64>,
/// }
/// # #[processor]
/// # impl Totals {
/// #     #[on_message(WORDS)]
/// #     fn add(&mut self, word: &str, n: i64) -> Result<()> {
/// #         self.totals.put(word, &n)?;
/// #         Ok(self.last_seen.put(word, &n)?)
/// #     }
/// # }
/// ```
///
/// # Errors you may meet
///
/// - ``evaluation panicked: field `pending` is a store without `#[state]`: it would never open. Write `#[state]` above it``:
///   write the mark; whoever used the table would find it closed.
/// - `` `HashMap<String, i64>` is not a store``:
///   a map in memory is plain Rust: remove the mark, or make it a `Table<String, i64>`.
/// - ``the store name `pending` is used by field `pending` already, and each store has its own changelog: give this one another name, `#[state(name = "…")]` ``:
///   two fields would share one changelog: name one of them by `#[state(name = "…")]`.
/// - ``the name of a store is part of the name of its changelog topic, and Kafka does not allow ' ' there …``:
///   the name becomes part of a topic's name.
/// - `` `#[state]` goes on a field of a struct marked `#[processor]`, such as `totals: Table<String, i64>`, and nowhere else``:
///   the struct is not marked, or the mark is not on a field.
#[proc_macro_attribute]
pub fn state(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::State, &item.into()).into()
}

/// A method of a processor that is called for each record of a topic.
///
/// The topic is a constant of the type `Topic<K, V>`, or any other expression of it, such as `Self::INPUT` in a
/// generic processor. After `&mut self` the method takes
///
/// - `ctx: &mut Context<'_>`, if it wants to;
/// - the key, unless it takes the value alone;
/// - the value.
///
/// Key and value are what the topic's types lend: `&str` or `String` for `String`, `i64` for `i64`, `Order<'_>`
/// for `Order`. What borrows from the record lives for this call. Take `Option<…>` where null is welcome (a null
/// value is a tombstone: the key was deleted); a null that meets anything else, like bytes that cannot be
/// decoded, is an error of the record and never a default value.
///
/// ```
/// # use kproc::prelude::*;
/// const PRICES: Topic<String, f64> = Topic::new("prices");
/// const ORDERS: Topic<u64, String> = Topic::new("orders");
///
/// # #[processor]
/// # #[derive(Default)]
/// # struct Shop { #[state] prices: Table<String, f64>, orders: u64 }
/// #[processor]
/// impl Shop {
///     #[on_message(PRICES)]
///     fn priced(&mut self, item: &str, price: Option<f64>) -> Result<()> {
///         match price {
///             Some(price) => self.prices.put(item, &price)?,
///             None => self.prices.delete(item)?,
///         }
///         Ok(())
///     }
///
///     #[on_message(ORDERS, start = latest)]
///     async fn ordered(&mut self, ctx: &mut Context<'_>, item: &str) {
///         self.orders += 1;
///         # let _ = (ctx, item);
///     }
/// }
/// ```
///
/// A processor may handle several topics; each of them has one handler in it. (Two handlers that name one topic in the same way
/// do not compile; two that name it by different paths are found when the application starts.) Records of one partition number
/// come to the same instance, in the order of their timestamps.
///
/// # Options
///
/// - `start = earliest` (the default) or `start = latest`: where to begin as long as nothing was committed. Later
///   starts go on where the last one ended.
///
/// # Errors you may meet
///
/// - `` `#[on_message]` needs the topic that it handles: `#[on_message(ORDERS)]` ``:
///   name the constant of the topic in the parentheses.
/// - ``expected a typed topic: …``:
///   a name has no types: declare the constant, and name that.
/// - ``this handler takes `u64`, which a topic of `String` does not give``:
///   take what the type lends: `&str` or `String` for `String`; the order is `(ctx, key, value)`.
/// - ``this handler takes `&i64`, which a topic of `i64` does not give``:
///   numbers come by value: `i64`.
/// - `` `kproc::Json<Order>` names a format, and a topic of it hands over the `Order` itself: write `Order` ``:
///   `Json` and `Postcard` are written in the topic only.
/// - `` `None` alone has no type: no value, a tombstone, is written `Null` ``:
///   `ctx.send(&TOPIC, key, Null)`.
/// - `` `WORDS` is handled by `add` already, and a topic has one handler in a processor: …``:
///   call the second method from the first, and remove its mark.
/// - ``what a handler is given lives for this call only, so nothing of it is `'static`: …``:
///   write `Order<'_>`, and copy what is to be kept.
/// - ``the context comes first: write `fn add(&mut self, ctx: &mut Context<'_>, …)` ``:
///   move it to the front.
/// - `` `add` has 4 arguments; …``:
///   offset, headers and times are in the context.
/// - `` `#[on_message]` needs a processor around it: write `#[processor]` above this `impl`, and above its struct `struct Name { … }` ``:
///   the impl block is not marked.
#[proc_macro_attribute]
pub fn on_message(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnMessage, &item.into()).into()
}

/// A method of a processor that is called when a period has passed.
///
/// After `&mut self` it takes `ctx: &mut Context<'_>` and `now: Timestamp`, both optional, in this order.
///
/// ```
/// # use kproc::prelude::*;
/// # const WORDS: Topic<String, i64> = Topic::new("words");
/// # #[processor]
/// # #[derive(Default)]
/// # struct Totals { #[state] totals: Table<String, i64> }
/// # #[processor]
/// # impl Totals {
/// #     #[on_message(WORDS)]
/// #     fn add(&mut self, _n: i64) {}
/// #[every("10s")]
/// fn report(&mut self) -> Result<()> {
///     println!("{} words", self.totals.len()?);
///     Ok(())
/// }
///
/// #[every("1m", stream_time)]
/// fn forget(&mut self, ctx: &mut Context<'_>, now: Timestamp) {
///     # let _ = (ctx, now);
/// }
/// # }
/// ```
///
/// A method is called once at most when time advances, however many periods have passed: a suspended machine
/// makes up for nothing. What is due stays on the grid of the period.
///
/// # The period
///
/// A whole number and a unit, without spaces:
///
/// | unit | is |
/// |---|---|
/// | `ms` | a millisecond |
/// | `s` | a second |
/// | `m` | a minute |
/// | `h` | an hour |
/// | `d` | 24 hours |
///
/// The shortest period is `"1ms"`.
///
/// # Options
///
/// - `stream_time`: goes by stream time, the highest timestamp of a record that the task has seen, instead of by
///   the wall clock. Stream time stands still while no records come, and runs fast while old ones are caught up
///   with.
///
/// # Errors you may meet
///
/// - `` `10` has no unit: …``:
///   write `"10s"`.
/// - ``a period is a text in quotes, and written here: `#[every("10s")]` ``:
///   with quotes and a unit; constants cannot be read here.
/// - `` `0s` would fire without end: the shortest period is `"1ms"` ``:
///   a millisecond is the shortest.
/// - ``unknown option `jitter`: `#[every]` has `stream_time` ``:
///   there is one option.
/// - ``an `#[every]` method is not given a `i64` ``:
///   the time is a `Timestamp`: take it, and ask it for `as_millis()`.
/// - `` `#[every]` needs a processor around it: …``:
///   the impl block is not marked.
#[proc_macro_attribute]
pub fn every(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::Every, &item.into()).into()
}

/// A method of a processor that is called when a task begins: its stores are restored and open.
///
/// After `&mut self` it takes `ctx: &mut Context<'_>` or nothing. It is called again after a task fell back to
/// its last commit, on a new instance.
///
/// ```
/// # use kproc::prelude::*;
/// # const WORDS: Topic<String, i64> = Topic::new("words");
/// # #[processor]
/// # #[derive(Default)]
/// # struct Totals { #[state] totals: Table<String, i64>, known: usize }
/// # #[processor]
/// # impl Totals {
/// #     #[on_message(WORDS)]
/// #     fn add(&mut self, _n: i64) {}
/// #[on_start]
/// fn begin(&mut self) -> Result<()> {
///     self.known = self.totals.len()?;
///     Ok(())
/// }
/// # }
/// ```
///
/// # Errors you may meet
///
/// - `` `begin` has 2 arguments; …``:
///   it takes the context or nothing.
/// - `` `#[on_start]` and `#[on_stop]` methods take `ctx: &mut Context<'_>` or nothing, not `kproc::Timestamp` ``:
///   the times are in the context.
/// - `` `one` is `#[on_start]` already, and a processor has one such method: …``:
///   call the second one from the first.
/// - `` `#[on_start]` takes no options: write it alone``:
///   periods belong to `#[every("10s")]`.
/// - `` `#[on_start]` needs a processor around it: …``:
///   the impl block is not marked.
#[proc_macro_attribute]
pub fn on_start(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnStart, &item.into()).into()
}

/// A method of a processor that is called when a task ends in good order: the application stops, or the partition
/// moves to another process. What is sent and stored here is still committed.
///
/// After `&mut self` it takes `ctx: &mut Context<'_>` or nothing. Do not count on it: a process that crashes
/// calls nothing.
///
/// ```
/// # use kproc::prelude::*;
/// # const WORDS: Topic<String, i64> = Topic::new("words");
/// # #[processor]
/// # #[derive(Default)]
/// # struct Totals {}
/// # #[processor]
/// # impl Totals {
/// #     #[on_message(WORDS)]
/// #     fn add(&mut self, _n: i64) {}
/// #[on_stop]
/// async fn end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
///     ctx.send(&WORDS, "the end", &0)?;
///     Ok(())
/// }
/// # }
/// ```
///
/// # Errors you may meet
///
/// - `` `end` has 2 arguments; …``:
///   it takes the context or nothing; a reason is not told.
/// - `` `one` is `#[on_stop]` already, and a processor has one such method: …``:
///   call the second one from the first.
/// - `` `#[on_stop]` needs a processor around it: …``:
///   the impl block is not marked.
#[proc_macro_attribute]
pub fn on_stop(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnStop, &item.into()).into()
}

/// The method of a processor that is called when a timer fires that was made by `ctx.schedule`.
///
/// A processor has one such method at most, and needs it to schedule anything. After `&mut self` it takes
/// `ctx: &mut Context<'_>`, `timer: TimerId` (what `schedule` returned) and `now: Timestamp`, all optional, in
/// this order.
///
/// Such a timer fires again after each period; for one that fires once, cancel it in this method.
///
/// **Timers are not state.** When the process restarts, the partition moves, or the task falls back to its last
/// commit, they are gone. Keep in a table what is to happen, and schedule it again in `#[on_start]`:
///
/// ```
/// use kproc::prelude::*;
/// use std::{collections::HashMap, time::Duration};
///
/// const ORDERS: Topic<String, i64> = Topic::new("orders");
/// const REMINDERS: Topic<String, i64> = Topic::new("reminders");
/// const DELAY: Duration = Duration::from_secs(5);
///
/// #[processor]
/// #[derive(Default)]
/// struct Reminders {
///     #[state]
///     open: Table<String, i64>,          // survives restarts
///     timers: HashMap<TimerId, String>,  // does not, as the timers do not
/// }
///
/// #[processor]
/// impl Reminders {
///     #[on_start]
///     fn begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
///         for entry in self.open.iter() {
///             let (order, _) = entry?;
///             let timer = ctx.schedule(DELAY, TimerClock::Wall)?;
///             self.timers.insert(timer, order.to_string());
///         }
///         Ok(())
///     }
///
///     #[on_message(ORDERS)]
///     fn ordered(&mut self, ctx: &mut Context<'_>, order: &str, cents: i64) -> Result<()> {
///         self.open.put(order, &cents)?;
///         let timer = ctx.schedule(DELAY, TimerClock::Wall)?;
///         self.timers.insert(timer, order.to_string());
///         Ok(())
///     }
///
///     #[on_schedule]
///     fn fired(&mut self, ctx: &mut Context<'_>, timer: TimerId) -> Result<()> {
///         ctx.cancel(timer); // once is enough
///         let Some(order) = self.timers.get(&timer) else { return Ok(()) };
///         if let Some(cents) = self.open.get(order)? {
///             ctx.send(&REMINDERS, order, &cents)?;
///             self.open.delete(order)?;
///         }
///         self.timers.remove(&timer);
///         Ok(())
///     }
/// }
/// # use kproc::testing::TestDriver;
/// # let mut driver = TestDriver::new::<Reminders>()?;
/// # driver.send(&ORDERS, "a", &5)?;
/// # driver.advance_wall_clock(Duration::from_secs(3))?;
/// # driver.stop()?;
/// # driver.start()?;
/// # driver.advance_wall_clock(DELAY)?;
/// # assert_eq!(driver.receive(&REMINDERS)?, Some(("a".to_string(), 5)));
/// # driver.advance_wall_clock(DELAY * 3)?;
/// # assert_eq!(driver.receive(&REMINDERS)?, None);
/// # Ok::<(), kproc::Error>(())
/// ```
///
/// # Errors you may meet
///
/// - ``an `#[on_schedule]` method is not given a `u64` ``:
///   timers are told apart by `TimerId`, as `ctx.schedule` returns it.
/// - `` `#[on_schedule]` takes no options: write it alone; a period is the argument of `#[every("10s")]` ``:
///   the period is given to `ctx.schedule`; a fixed one is an `#[every("10s")]` method.
/// - `` `one` is `#[on_schedule]` already, and a processor has one such method: …``:
///   ask in it which timer it is.
/// - `` `#[on_schedule]` needs a processor around it: …``:
///   the impl block is not marked.
#[proc_macro_attribute]
pub fn on_schedule(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnSchedule, &item.into()).into()
}
