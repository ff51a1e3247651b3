//! Applications of more than one processor, input or store, and ones with timers: what they do, and what must come of it.
//!
//! Each file is one of them: its processors, and a model that follows from the input alone. A model holds at any moment:
//! what can be read has come by the right way so far, whatever becomes of it.

mod chain;
mod join;
mod mixed;
mod order;
mod timers;

pub(super) use self::{chain::Chain, join::Join, mixed::Mixed, timers::Timers};

use std::{collections::BTreeMap, fmt::Debug};

use kproc_store::codec::{Codec, Data, KeyCodec, Own};

use super::workload::{End, Seen, Verdict};
use crate::{Partition, Topic};

/// Key and value of a record as its topic has them, if neither is null.
fn decoded<'s, K: Codec, V: Codec>(
    topic: &Topic<K, V>,
    seen: &Seen<'s>,
) -> Result<(<K as Data>::Item<'s>, <V as Data>::Item<'s>), String> {
    let at = || format!("{} {}", topic.name(), seen.offset);
    let (Some(key), Some(value)) = (seen.key, seen.value) else {
        return Err(format!("{}: a null, which nobody sends", at()));
    };
    let key = K::decode(key).map_err(|error| format!("{}: {error}", at()))?;
    let value = V::decode(value).map_err(|error| format!("{}: {error}", at()))?;
    Ok((key, value))
}

/// What a changelog comes to, over all partitions, which have no keys in common.
fn table<K, V>(end: &End<'_>, changelog: &str) -> Result<BTreeMap<K::Owned, V::Owned>, String>
where
    K: KeyCodec + Own<Owned: Ord>,
    V: Codec + Own,
{
    let entries = entries::<K, V>(end, changelog)?;
    Ok(entries
        .into_iter()
        .map(|((_, key), value)| (key, value))
        .collect())
}

/// The entries of tables, by partition and key.
type Entries<K, V> = BTreeMap<(Partition, K), V>;

/// What a changelog comes to.
fn entries<K, V>(end: &End<'_>, changelog: &str) -> Result<Entries<K::Owned, V::Owned>, String>
where
    K: KeyCodec + Own<Owned: Ord>,
    V: Codec + Own,
{
    let tables = end.tables.iter();
    let tables = tables.filter(|(place, _)| *place.topic == *changelog);
    let rows = tables.flat_map(|(place, rows)| rows.iter().map(|row| (place.partition, row)));
    rows.map(|(partition, (key, value))| {
        let wrong = |error| format!("{changelog}: {error}");
        let key = K::decode_key(key).map_err(wrong)?;
        Ok(((partition, K::own(key)), V::own(V::decode(value).map_err(wrong)?)))
    })
    .collect()
}

/// Whether what is kept is what should be.
fn same<T: PartialEq + Debug>(what: &str, due: &T, kept: &T) -> Verdict {
    if due == kept {
        return Ok(());
    }
    Err(format!("{what}: {kept:?} and should be {due:?}"))
}

impl End<'_> {
    /// At least once, what is counted comes to no less than there was; unless old records have come late.
    fn at_least<K: Ord + Debug>(
        &self,
        what: &str,
        due: &BTreeMap<K, i64>,
        kept: &BTreeMap<K, i64>,
    ) -> Verdict {
        let less = |(key, due): &(&K, &i64)| kept.get(*key).is_none_or(|kept| kept < *due);
        match due.iter().find(less).filter(|_| !self.had_late_records) {
            Some((key, due)) => Err(format!(
                "{what}: {:?} for {key:?}, of which {due} came",
                kept.get(key)
            )),
            None => Ok(()),
        }
    }
}
