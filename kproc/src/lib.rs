//! kproc: stateful stream processing on Apache Kafka.

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
mod handler;
mod message;
pub mod outbox;
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
pub use message::{Message, SendError};
pub use payload::{Null, Payload};
pub use policy::{MissingTimestamp, Policies, Policy, Retry};
pub use processor::Processor;
pub use record::{Decoded, Headers, Offset, Partition, Record, Timestamp, TopicPartition};
pub use runtime::{RunError, RunState, Running, Status, TaskFailure, TaskPhase, TaskStatus};
pub use timer::{PeriodError, ScheduleError, Timer, TimerClock, TimerId};
pub use topic::{Topic, TopicNameError};
pub use topology::TopologyError;
