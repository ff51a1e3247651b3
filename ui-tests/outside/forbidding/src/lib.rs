//! A crate that forbids lints, so that nothing in it may allow them: nor may what kproc's macros write. What generated code
//! names is in scope here, so that its paths would be longer than they need be, were they the user's.

#![forbid(unsafe_code, missing_docs, unused_qualifications, unused, warnings)]
#![forbid(
    clippy::all,
    clippy::unwrap_used,
    clippy::wildcard_imports,
    clippy::absolute_paths
)]

use kproc::{
    Codec, Context, Json, Outcome, Processor, Result, Table, TimerId, Timestamp, Topic,
    codec::{Data, Encode, FromItem, Own, Serde, json, postcard},
    handler::{Argument, Present, TypedTopic},
    processor,
    processor::{Declare, State, Store},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A size. (By hand, for what serde derives allows lints.)
#[derive(Codec)]
#[codec(postcard)]
pub struct Size<Unit>(Unit);

impl<Unit: Serialize> Serialize for Size<Unit> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, Unit: Deserialize<'de>> Deserialize<'de> for Size<Unit> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Unit::deserialize(deserializer).map(Self)
    }
}

/// A note.
#[derive(Codec)]
#[codec(json)]
pub struct Note<'rec>(&'rec str);

impl Serialize for Note<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Note<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de str>::deserialize(deserializer).map(Self)
    }
}

/// Notes.
pub const NOTES: Topic<String, Note<'_>> = Topic::new("notes");
/// Sizes.
pub const SIZES: Topic<String, Size<u8>> = Topic::new("sizes");
/// Lists.
pub const LISTS: Topic<String, Json<Vec<u8>>> = Topic::new("lists");

/// The last of each.
#[processor]
#[derive(Debug, Default)]
pub struct Last {
    /// Sizes.
    #[state]
    sizes: Table<String, Size<u8>>,
    seen: u64,
}

#[processor(sends(LISTS))]
impl Last {
    #[on_message(NOTES)]
    async fn noted(&mut self, ctx: &mut Context<'_>, key: &str, note: Note<'_>) -> Result<()> {
        self.seen += u64::from(note.0.is_empty());
        Ok(ctx.send(&LISTS, key, &vec![1])?)
    }

    #[on_message(SIZES)]
    fn sized(&mut self, key: &str, size: Option<Size<u8>>) -> Result<()> {
        match size {
            Some(size) => self.sizes.put(key, &size)?,
            None => self.sizes.delete(key)?,
        }
        Ok(())
    }

    #[on_message(LISTS)]
    fn listed(&mut self, list: Vec<u8>) {
        self.seen += u64::from(list.is_empty());
    }

    #[every("1m")]
    fn tick(&self, _ctx: &mut Context<'_>, _now: Timestamp) {}

    #[on_schedule]
    fn fired(&mut self, _ctx: &mut Context<'_>, _timer: TimerId, _now: Timestamp) {}
}

/// A generic one.
#[processor]
#[derive(Debug, Default)]
pub struct Keep<Value> {
    /// The last.
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

    #[on_message(Self::INPUT)]
    fn keep(&mut self, key: &str, value: Value::Item<'_>) -> Result<()> {
        Ok(self.last.put(key, &value)?)
    }
}

/// Uses what is imported.
pub fn names<D: Data, V: Own + for<'de> Serde<'de>>(
    _: &impl Store,
    _: &impl TypedTopic,
    _: &dyn Declare,
) -> String
where
    Last: Processor + State,
    i64: for<'r> Argument<'r, Present, i64> + for<'r> FromItem<'r, i64>,
    (): Outcome,
{
    format!("{}{}{}", <Last as Processor>::name(), json::NAME, postcard::NAME)
}
