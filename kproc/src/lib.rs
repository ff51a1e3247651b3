//! kproc: stateful stream processing on Apache Kafka.
//!
//! A *processor* is a struct with annotated methods: code per record, code per timer, state that is local and yet
//! never lost, and one context to send, schedule and commit. kproc manages threads, partitions, state, offsets and
//! restarts, on Kafka and, for trying and testing, on an [embedded cluster](cluster::embedded).
//!
//! # A first program
//!
//! ```
//! # mod program {
//! use kproc::prelude::*;
//!
//! const WORDS: Topic<String, i64> = Topic::new("words");
//! const TOTALS: Topic<String, i64> = Topic::new("totals");
//!
//! #[processor]
//! #[derive(Default)]
//! struct Totals {
//!     #[state]
//!     totals: Table<String, i64>,
//! }
//!
//! #[processor]
//! impl Totals {
//!     #[on_message(WORDS)]
//!     fn add(&mut self, word: &str, n: i64) -> Result<()> {
//!         *self.totals.entry(word)?.or_default() += n;
//!         Ok(())
//!     }
//!
//!     #[every("1s")]
//!     fn publish(&mut self, ctx: &mut Context<'_>) -> Result<()> {
//!         for entry in self.totals.iter() {
//!             let (word, total) = entry?;
//!             ctx.send(&TOTALS, word, &total)?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! kproc::main!(Totals);
//! # }
//! # fn main() {}
//! ```
//!
//! Each partition number of the topics that a processor reads has an instance of it: a *task*, which is on one
//! thread at a time. So handlers need no locks, and what they keep is divided as the input is, by key.
//!
//! # Topics and codecs
//!
//! A [`Topic`] is a constant with the types of its keys and values; handlers, `send` and tests that get them wrong do
//! not compile. Built-in types have the bytes of Kafka's own serializers ([the table](codec)); your own types derive
//! [`Codec`](macro@Codec), foreign ones are wrapped ([`Json`], [`Postcard`]). Text and bytes are lent by the record, not
//! copied. Null is never a default value: it is [`Null`] when sent, and `Option` when taken.
//!
//! # Handlers
//!
//! | attribute | its method is called |
//! |---|---|
//! | [`#[on_message(TOPIC)]`](macro@on_message) | for each record of a topic |
//! | [`#[every("10s")]`](macro@every) | when a period has passed, by the wall clock or by stream time |
//! | [`#[on_schedule]`](macro@on_schedule) | when a timer fires that [`Context::schedule`] has made |
//! | [`#[on_start]`](macro@on_start), [`#[on_stop]`](macro@on_stop) | when a task begins, and ends in good order |
//!
//! A handler is a `fn` or an `async fn`; while one waits, its task waits and the others go on. A processor can also be
//! written [without macros](Processor).
//!
//! # Time
//!
//! A record has a [`Timestamp`]. *Stream time* is the highest one that a task has seen: it stands still while no
//! records come, and is kept over restarts. Records of several inputs are taken in the order of their timestamps.
//!
//! # State
//!
//! A [`Table`] is read and written like a map, on the local disk. What a handler writes there it sees at once; it
//! becomes permanent when the record is committed, together with the record's offset. Every change also goes to a
//! changelog topic, from which the table is restored wherever its partition goes. Plain fields are not state: each new
//! instance begins with what its factory puts there.
//!
//! # The context
//!
//! [`Context`] sends, schedules, asks for a commit, and knows the present record, the task and both clocks. What a
//! handler does through it counts once the handler has returned without an error.
//!
//! # Errors and policies
//!
//! A handler fails with any error, by `?` ([`Result`], [`Error`]). Nothing of what it sent and stored remains (plain
//! fields do keep what it did to them), and a [`Policy`] decides for each kind of failure: stop (the default), skip the
//! record, or try again. A failure that stops
//! the application is in its log, in its [`Status`], and in its exit code.
//!
//! # Testing
//!
//! [`TestDriver`](testing::TestDriver) runs processors with the real engine under a virtual clock, without threads or
//! waiting: see [the guide](testing).
//!
//! # Running
//!
//! [`kproc::main!`](main) and [`App::main`] make a command line (`run`, `topology`, `topics`, `state`), whose
//! [`Settings`] come from flags, variables, a file and the program. [`App::start`] runs an application inside a program
//! of your own, with a handle on it: [`Running`]. A [`Demo`] is a program that feeds itself.
//!
//! # At least once, exactly once
//!
//! By default processing is *at least once*: nothing is lost, and after a crash what was processed since the last commit is
//! processed again. Outputs then are there twice, and state may count it twice.
//!
//! With [`Processing::ExactlyOnce`](config::Processing::ExactlyOnce), in a program or by `--processing exactly_once`, outputs,
//! changelogs and positions of a commit are one transaction: all of it counts, or nothing, whatever dies in the middle.
//!
//! ```
//! use kproc::{App, config::Processing};
//!
//! let app = App::new("orders").configure(|settings| settings.processing = Processing::ExactlyOnce);
//! # drop(app);
//! ```
//!
//! - Whoever reads the outputs must set `isolation.level=read_committed`: else they see records of transactions that were
//!   aborted, too. kproc's own inputs always are read so.
//! - Outputs come into sight with the commit: every 100 ms, by default. Each commit costs a few requests, however much is
//!   in it.
//! - What a handler does elsewhere (a call to another system, a file) is in no transaction, and is done again when its record
//!   is processed again. Let it bear repetition, for instance by a key of the record.

#![warn(missing_debug_implementations)]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
#[doc(hidden)]
pub use engine::rig as __rig;
mod app;
mod batch;
mod cli;
mod clock;
pub mod cluster;
pub mod config;
mod context;
mod engine;
mod error;
pub mod handler;
mod lag;
mod mark;
mod message;
pub mod outbox;
mod partitioner;
mod payload;
mod policy;
pub mod prelude;
pub mod processor;
mod record;
mod runtime;
mod state;
pub mod testing;
mod timer;
mod topic;
mod topology;

pub use kproc_store::{
    Table,
    codec::{self, Codec, Json, Postcard},
};

/// ```
/// use std::borrow::Cow;
/// use kproc::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Codec)]
/// #[codec(json)]
/// struct Order<'a> {
///     #[serde(borrow)]
///     note: Cow<'a, str>,
///     cents: u64,
/// }
///
/// const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");
/// ```
pub use kproc_macros::Codec;
pub use kproc_macros::{every, on_message, on_schedule, on_start, on_stop, processor, state};

pub use app::{App, Demo, Feed, Results};
pub use batch::Batch;
pub use clock::{Clock, SystemClock};
pub use config::Settings;
pub use context::{Context, TaskId};
pub use error::{
    BoxError, DecodeError, EncodeError, Error, ErrorKind, IntoError, Outcome, Result, StoreError,
};
pub use lag::{Lag, PartitionLag};
pub use message::{Message, SendError};
pub use payload::{KeyPayload, Null, Payload};
pub use policy::{MissingTimestamp, Policy, Retry};
pub use processor::Processor;
pub use record::{Decoded, Headers, Offset, Partition, Record, Timestamp, TopicPartition};
pub use runtime::{Restored, RunError, RunState, Running, Status, TaskFailure, TaskPhase, TaskStatus};
pub use timer::{PeriodError, ScheduleError, Timer, TimerClock, TimerId};
pub use topic::{Topic, TopicNameError};
