//! What the environment knows of itself, in a database of its own: types, positions, the last commit.
//!
//! It is written in the same transactions as the stores, which is what ties them together.

use std::time::Duration;

use heed::{Database, RoTxn, RwTxn, types::Bytes};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{CommitPoint, Followed, InputPosition, Offset, StoreSpec, Timestamp};

/// Name of the database.
pub(crate) const DATABASE: &str = "meta";

const FORMAT: &[u8] = b"format";
const CHECKSUM: &[u8] = b"checksum";
const COMMIT: &[u8] = b"commit";
const TYPES: &str = "types/";
const POSITION: &str = "position/";
const FOLLOWED: &str = "followed/";
const KEPT: &str = "kept/";
const ORIGIN: &str = "origin/";

/// The meta database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meta<'e>(pub(crate) Database<'e, Bytes, Bytes>);

/// Kind and types of a store, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Types {
    pub(crate) kind: String,
    pub(crate) key: String,
    pub(crate) value: String,
}

impl From<&StoreSpec> for Types {
    fn from(spec: &StoreSpec) -> Self {
        Self {
            kind: spec.kind.into(),
            key: spec.key.to_string(),
            value: spec.value.to_string(),
        }
    }
}

impl std::fmt::Display for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a {} of {} by {}", self.kind, self.value, self.key)
    }
}

/// As it is stored. After it come the metadata of the inputs, in their order. (Not in states that the first versions wrote.)
#[derive(Serialize, Deserialize)]
struct Commit {
    inputs: Vec<(String, u64)>,
    /// Always nothing: it is in the metadata now.
    stream_time: Option<i64>,
    committed_at: Option<i64>,
}

impl Meta<'_> {
    pub(crate) fn format(self, txn: &RoTxn<'_>) -> heed::Result<Option<u32>> {
        self.get(txn, FORMAT)
    }

    pub(crate) fn put_format(self, txn: &mut RwTxn<'_>, format: u32) -> heed::Result<()> {
        self.put(txn, FORMAT, &format)
    }

    pub(crate) fn checksum(self, txn: &RoTxn<'_>) -> heed::Result<Option<bool>> {
        self.get(txn, CHECKSUM)
    }

    pub(crate) fn put_checksum(self, txn: &mut RwTxn<'_>, checksum: bool) -> heed::Result<()> {
        self.put(txn, CHECKSUM, &checksum)
    }

    pub(crate) fn types(self, txn: &RoTxn<'_>, store: &str) -> heed::Result<Option<Types>> {
        self.get(txn, &named(TYPES, store))
    }

    pub(crate) fn put_types(self, txn: &mut RwTxn<'_>, store: &str, types: &Types) -> heed::Result<()> {
        self.put(txn, &named(TYPES, store), types)
    }

    /// Names and types of all stores that were ever declared here, by name.
    pub(crate) fn all_types(self, txn: &RoTxn<'_>) -> heed::Result<Vec<(String, Types)>> {
        let mut all = Vec::new();
        for entry in self.0.prefix_iter(txn, TYPES.as_bytes())? {
            let (key, value) = entry?;
            let name = String::from_utf8_lossy(&key[TYPES.len()..]).into_owned();
            all.push((name, decode(value)?));
        }
        Ok(all)
    }

    pub(crate) fn position(self, txn: &RoTxn<'_>, store: &str) -> heed::Result<Option<Offset>> {
        Ok(self.get(txn, &named(POSITION, store))?.map(Offset::new))
    }

    pub(crate) fn put_position(self, txn: &mut RwTxn<'_>, store: &str, next: Offset) -> heed::Result<()> {
        self.put(txn, &named(POSITION, store), &next.get())
    }

    /// Forgets where a store is in its changelog, and since when.
    pub(crate) fn forget_position(self, txn: &mut RwTxn<'_>, store: &str) -> heed::Result<()> {
        for what in [POSITION, FOLLOWED, KEPT] {
            self.0.delete(txn, &named(what, store))?;
        }
        Ok(())
    }

    /// Up to when a store has all that its changelog had.
    pub(crate) fn followed(self, txn: &RoTxn<'_>, store: &str) -> heed::Result<Option<Followed>> {
        let until = self.get(txn, &named(FOLLOWED, store))?;
        let kept = self.get(txn, &named(KEPT, store))?;
        Ok(until.zip(kept).map(|(until, kept)| Followed {
            until: Timestamp::from_millis(until),
            kept: Duration::from_millis(kept),
        }))
    }

    pub(crate) fn put_followed_until(
        self,
        txn: &mut RwTxn<'_>,
        store: &str,
        until: Timestamp,
    ) -> heed::Result<()> {
        self.put(txn, &named(FOLLOWED, store), &until.as_millis())
    }

    pub(crate) fn put_kept(self, txn: &mut RwTxn<'_>, store: &str, kept: Duration) -> heed::Result<()> {
        let millis = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX);
        self.put(txn, &named(KEPT, store), &millis)
    }

    /// The last commit; its changelog positions are those of the stores.
    pub(crate) fn commit(self, txn: &RoTxn<'_>) -> heed::Result<CommitPoint> {
        let Some(bytes) = self.0.get(txn, COMMIT)? else {
            return Ok(CommitPoint::default());
        };
        let (commit, rest) = postcard::take_from_bytes::<Commit>(bytes).map_err(undecodable)?;
        let metadata: Vec<String> = if rest.is_empty() {
            Vec::new()
        } else {
            decode(rest)?
        };
        let mut metadata = metadata.into_iter();
        let input = |(topic, next)| InputPosition {
            topic,
            next: Offset::new(next),
            metadata: metadata.next().unwrap_or_default(),
        };
        Ok(CommitPoint {
            changelogs: Vec::new(),
            inputs: commit.inputs.into_iter().map(input).collect(),
            committed_at: commit.committed_at.map(Timestamp::from_millis),
        })
    }

    pub(crate) fn put_commit(self, txn: &mut RwTxn<'_>, point: &CommitPoint) -> heed::Result<()> {
        let commit = Commit {
            inputs: point
                .inputs
                .iter()
                .map(|input| (input.topic.clone(), input.next.get()))
                .collect(),
            stream_time: None,
            committed_at: point.committed_at.map(Timestamp::as_millis),
        };
        let metadata: Vec<&str> = point.inputs.iter().map(|input| &*input.metadata).collect();
        self.put(txn, COMMIT, &(commit, metadata))
    }

    /// Which log of this name the state comes from.
    pub(crate) fn origin(self, txn: &RoTxn<'_>, log: &str) -> heed::Result<Option<u128>> {
        self.get(txn, &named(ORIGIN, log))
    }

    pub(crate) fn put_origin(self, txn: &mut RwTxn<'_>, log: &str, id: u128) -> heed::Result<()> {
        self.put(txn, &named(ORIGIN, log), &id)
    }

    fn get<T: DeserializeOwned>(self, txn: &RoTxn<'_>, key: &[u8]) -> heed::Result<Option<T>> {
        self.0.get(txn, key)?.map(decode).transpose()
    }

    fn put<T: Serialize>(self, txn: &mut RwTxn<'_>, key: &[u8], value: &T) -> heed::Result<()> {
        let bytes = postcard::to_stdvec(value).map_err(|error| heed::Error::Encoding(error.into()))?;
        self.0.put(txn, key, &bytes)
    }
}

fn named(prefix: &str, store: &str) -> Vec<u8> {
    [prefix.as_bytes(), store.as_bytes()].concat()
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> heed::Result<T> {
    postcard::from_bytes(bytes).map_err(undecodable)
}

fn undecodable(error: postcard::Error) -> heed::Error {
    heed::Error::Decoding(error.into())
}
