//! What expansions of the macros name. Not part of the public interface: it may change in any release, and the
//! versions of the two crates are tied together.

pub use core::{
    self,
    option::Option,
    result::Result::{Err, Ok},
    time::Duration,
};
pub use std::{borrow::Cow, process::ExitCode, vec::Vec};

pub use crate::{
    Context, Outcome, Processor, Record, Result, Timestamp,
    handler::{
        Argument, ContextArgument, ContextOfScheduled, EveryArgument, First, FirstOfEvery, FirstOfScheduled,
        FrameArgument, ScheduledArgument, TypedTopic, Unwrapped, undeclared,
    },
    processor,
    processor::{Declare, ProcessorType, Start, State, StoreOptions, TimerSpec},
    state::{Neither, Probe},
    timer::{Timer, TimerClock},
};
pub use kproc_store::{Store, codec};
pub use serde;
