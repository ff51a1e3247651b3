//! What most programs need: `use kproc::prelude::*;`.

pub use crate::{
    App, Codec, Context, Json, Null, Postcard, Result, Table, TimerClock, TimerId, Timestamp, Topic, every,
    on_message, on_schedule, on_start, on_stop, processor, state,
};
