//! What most programs need: `use kproc::prelude::*;`.

pub use crate::{
    App, Codec, Context, Null, Result, Table, TimerId, Timestamp, Topic, every, on_message, on_schedule,
    on_start, on_stop, processor, state,
};
