//! The engine, by the rules that it promises. Processors are written by hand; what they do is said by closures.

mod order;

use std::sync::{Arc, Mutex};

use super::{Failure, Next, Pause, Phase, TaskSettings, rig::*};
use crate::{
    Context, Processor, Record, Result, Table, Timer, TimerClock, Topic,
    processor::{Declare, Start, StoreOptions},
    topology::{Factory, factory},
};

const A: Topic<String, i64> = Topic::new("a");
const B: Topic<String, i64> = Topic::new("b");
const OUT: Topic<String, i64> = Topic::new("out");

/// What tests write down, in the order in which it happens.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }
    /// What was noted since the last call.
    fn read(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A record with a text key, a number, and a timestamp.
fn rec<'a>(key: &'a str, value: &'a [u8; 8], timestamp: i64) -> Fed<'a> {
    Fed {
        key: Some(key.as_bytes()),
        value: Some(value),
        timestamp: Some(timestamp),
        headers: &[],
    }
}
