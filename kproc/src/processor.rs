//! What a processor is to kproc. The macros implement this trait; so can you.

use std::{borrow::Cow, fmt, future::Future, time::Duration};

pub use crate::state::State;
pub use kproc_store::Store;
use kproc_store::{Timestamp, codec::Codec};

use crate::{
    Context, Record, Result, Topic,
    timer::{Timer, TimerClock},
    topic::AnyTopic,
};

/// A processor: what it declares, and what it does with records and timers.
///
/// Normally written with [`macro@crate::processor`]; the macros generate nothing that a person could not write:
///
/// ```
/// use kproc::{Context, Processor, Record, Result, Table, Topic, processor::{Declare, Start, StoreOptions}};
///
/// const WORDS: Topic<String, i64> = Topic::new("words");
///
/// #[derive(Default)]
/// struct Totals {
///     totals: Table<String, i64>,
/// }
///
/// impl Processor for Totals {
///     fn declare(&mut self, to: &mut dyn Declare) {
///         to.input(0, &WORDS, Start::Earliest);
///         to.store("totals", StoreOptions::default(), &mut self.totals);
///     }
///
///     async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
///         if let (Some(word), Some(n)) = record.decode(&WORDS)? {
///             *self.totals.entry(word)?.or_default() += n;
///         }
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a processor",
    label = "not a struct with handlers",
    note = "if `{Self}` is a struct of yours, write `#[processor]` and `#[derive(Default)]` above it, and `#[processor]` above its `impl` block with the `#[on_message(TOPIC)]` method (or implement `Processor` by hand)",
    note = "if it is not, name such a struct here: `kproc::main!(Totals);`, `.processor::<Totals>()`"
)]
pub trait Processor: Send + 'static {
    /// The processor's name: part of the names of its changelogs and state directories, so changing it loses
    /// the state. By default the type's name in kebab case (`HourlyDelays`: `hourly-delays`).
    fn name() -> Cow<'static, str> {
        Cow::Owned(default_name(std::any::type_name::<Self>()))
    }

    /// Says what it reads, keeps and is woken for. Called on every new instance, in the same way each time.
    fn declare(&mut self, to: &mut dyn Declare);

    /// A task begins: its stores are restored and open.
    fn start(&mut self, ctx: &mut Context<'_>) -> impl Future<Output = Result<()>> {
        let _ = ctx;
        std::future::ready(Ok(()))
    }

    /// A record of one of the declared inputs.
    fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> impl Future<Output = Result<()>>;

    /// A timer fires; `now` is its clock's time.
    fn punctuate(
        &mut self,
        ctx: &mut Context<'_>,
        timer: Timer,
        now: Timestamp,
    ) -> impl Future<Output = Result<()>> {
        let _ = (ctx, timer, now);
        std::future::ready(Ok(()))
    }

    /// Stream time has advanced: called after a record that moved it, before timers, if
    /// [`declare`](Self::declare) has said [`handles_stream_time`](Declare::handles_stream_time).
    fn stream_time(&mut self, ctx: &mut Context<'_>) -> impl Future<Output = Result<()>> {
        let _ = ctx;
        std::future::ready(Ok(()))
    }

    /// A task ends in good order: what is sent and stored here is still committed.
    fn stop(&mut self, ctx: &mut Context<'_>) -> impl Future<Output = Result<()>> {
        let _ = ctx;
        std::future::ready(Ok(()))
    }
}

/// Said of a text in `main!`. Nothing implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`kproc::main!` takes the types of processors, and this is a `{Self}`",
    label = "write the name of a struct here, without quotes: `kproc::main!(Totals);`"
)]
pub trait ProcessorType: Sized {
    /// Never called.
    fn main(self);
}

/// Where a processor without committed offsets starts to read an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Start {
    /// At the first record there is.
    #[default]
    Earliest,
    /// With records that come after it first joined.
    Latest,
}

/// An input, as declared.
#[derive(Debug, Clone)]
pub struct InputSpec {
    /// The number by which [`Record::input`] names it.
    pub number: usize,
    pub(crate) topic: AnyTopic,
    pub(crate) start: Start,
}

/// A periodic timer, as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerSpec {
    /// The number by which [`Timer::Every`] names it.
    pub number: usize,
    /// The name of the method that it calls, for errors and logs; `None`: they give the number.
    pub name: Option<&'static str>,
    /// Its period.
    pub period: Duration,
    /// Its clock.
    pub clock: TimerClock,
}

/// As errors and logs call it: `` timer `tick`, every 1s ``.
impl fmt::Display for TimerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "timer `{name}`")?,
            None => write!(f, "timer {}", self.number)?,
        }
        write!(f, ", every {}", humantime::format_duration(self.period))
    }
}

/// Options of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOptions {
    /// Whether what is written there also goes to a changelog topic, from which it can be restored.
    pub changelog: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { changelog: true }
    }
}

/// An output, as declared.
#[derive(Debug, Clone)]
pub struct OutputSpec {
    pub(crate) topic: AnyTopic,
}

/// Takes what a processor declares. Numbers are given explicitly, so that a handler switched off by `#[cfg]`
/// does not shift the others'.
pub trait Declare {
    /// Adds an input.
    fn add_input(&mut self, input: InputSpec);
    /// Adds an output. Optional: it makes the topic known to the `topology` and `topics` commands.
    fn add_output(&mut self, output: OutputSpec);
    /// Adds a timer.
    fn add_timer(&mut self, timer: TimerSpec);
    /// Adds a store.
    fn add_store(&mut self, name: Cow<'static, str>, options: StoreOptions, store: &mut dyn Store);
    /// Says that [`Timer::Scheduled`] is understood, so that `ctx.schedule` may be used.
    fn handles_scheduled(&mut self);
    /// Says that [`Processor::stream_time`] is to be called. (Most processors have no use for it, and it would be
    /// called for almost every record.)
    fn handles_stream_time(&mut self) {}
}

impl dyn Declare + '_ {
    /// Reads `topic` as input `number`.
    pub fn input<K: Codec, V: Codec>(&mut self, number: usize, topic: &Topic<K, V>, start: Start) {
        self.add_input(InputSpec {
            number,
            topic: topic.any(),
            start,
        });
    }

    /// Sends to `topic`.
    pub fn output<K: Codec, V: Codec>(&mut self, topic: &Topic<K, V>) {
        self.add_output(OutputSpec { topic: topic.any() });
    }

    /// Fires timer `number` every `period` (1 ms at least) of `clock`.
    pub fn every(&mut self, number: usize, period: Duration, clock: TimerClock) {
        self.add_timer(TimerSpec {
            number,
            name: None,
            period,
            clock,
        });
    }

    /// Keeps `store` under `name`.
    pub fn store(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        options: StoreOptions,
        store: &mut dyn Store,
    ) {
        self.add_store(name.into(), options, store);
    }
}

/// `my_crate::shop::HourlyDelays<u8>` becomes `hourly-delays`.
pub(crate) fn default_name(path: &str) -> String {
    let path = path.split('<').next().unwrap_or(path);
    let name = path.rsplit("::").next().unwrap_or(path);
    let mut out = String::with_capacity(name.len() + 4);
    let mut previous_lower = false;
    for c in name.chars() {
        if c == '_' {
            out.push('-');
        } else {
            if c.is_uppercase() && previous_lower {
                out.push('-');
            }
            out.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    out
}
