//! What a member owns, under which numbers, and what proves it to the brokers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    super::native::{Client, GroupMetadata},
    lock,
};
use crate::{
    cluster::{ClusterError, ClusterErrorKind, OffsetCommit, Ownership, Result},
    record::TopicPartition,
};

/// Shared by the thread that changes it in rebalances, and by all who commit.
///
/// Brokers take a commit for a lost partition, if its proof is fresh. So the proof is stored in the rebalance,
/// together with the numbers of what is owned then, and commits get that one or none.
pub(in super::super) struct Membership(Mutex<State>);

struct State {
    client: Arc<Client>,
    owned: BTreeMap<TopicPartition, Owned>,
    proof: Option<Arc<GroupMetadata>>,
}

struct Owned {
    ownership: Ownership,
    /// Set when the ownership ends: the queue falls silent.
    end: Arc<End>,
}

/// Whether an assignment has ended.
#[derive(Default)]
pub(super) struct End(Mutex<bool>);

impl End {
    /// It ends, once nothing is being done any more that must come before.
    fn set(&self) {
        *lock(&self.0) = true;
    }

    pub(super) fn has_come(&self) -> bool {
        *lock(&self.0)
    }

    /// Does what must not be done after the end, and does not take long; `None`: it has come already.
    pub(super) fn before<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let over = lock(&self.0);
        (!*over).then(act)
    }
}

/// Partitions under their ownership numbers.
pub(super) type Numbered = Vec<(TopicPartition, Ownership)>;

/// A number that was never given before, by any member in this process.
pub(super) fn next_ownership() -> Ownership {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Ownership(NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Membership {
    pub(super) fn new(client: Arc<Client>) -> Self {
        Self(Mutex::new(State {
            client,
            owned: BTreeMap::new(),
            proof: None,
        }))
    }

    /// The consumer, for requests.
    pub(super) fn client(&self) -> Arc<Client> {
        lock(&self.0).client.clone()
    }

    /// Another consumer takes the place of the first, which never owned anything.
    pub(super) fn replace(&self, client: Arc<Client>) {
        let mut state = lock(&self.0);
        state.client = client;
        state.proof = None;
    }

    /// These are owned from now on.
    pub(super) fn add(&self, places: impl IntoIterator<Item = (TopicPartition, Ownership, Arc<End>)>) {
        let mut state = lock(&self.0);
        state.renew_proof();
        for (place, ownership, end) in places {
            state.owned.insert(place, Owned { ownership, end });
        }
    }

    /// The numbers of these partitions, if they are owned.
    pub(super) fn numbers(&self, places: impl IntoIterator<Item = TopicPartition>) -> Numbered {
        let state = lock(&self.0);
        let numbered = |place: TopicPartition| {
            let ownership = state.owned.get(&place)?.ownership;
            Some((place, ownership))
        };
        places.into_iter().filter_map(numbered).collect()
    }

    /// These are owned no more: commits of them fail, and their queues are silent.
    pub(super) fn remove(&self, places: &Numbered) {
        let mut state = lock(&self.0);
        for (place, ownership) in places {
            if state
                .owned
                .get(place)
                .is_some_and(|owned| owned.ownership == *ownership)
                && let Some(owned) = state.owned.remove(place)
            {
                owned.end.set();
            }
        }
    }

    /// Nothing is owned any more. Returns what was.
    pub(super) fn remove_all(&self) -> Numbered {
        let mut state = lock(&self.0);
        state.proof = None;
        let end = |(place, owned): (TopicPartition, Owned)| {
            owned.end.set();
            (place, owned.ownership)
        };
        std::mem::take(&mut state.owned).into_iter().map(end).collect()
    }

    /// The rebalance is done.
    pub(super) fn renew_proof(&self) {
        lock(&self.0).renew_proof();
    }

    /// Does something for offsets that are all ours, before any of them can be taken.
    pub(super) fn while_owned<T>(
        &self,
        offsets: &[OffsetCommit],
        act: impl FnOnce(&Arc<Client>) -> Result<T>,
    ) -> Result<T> {
        let state = lock(&self.0);
        state.check(offsets)?;
        act(&state.client)
    }

    /// The proof that goes with offsets that are all ours.
    pub(in super::super) fn proof(&self, offsets: &[OffsetCommit]) -> Result<Arc<GroupMetadata>> {
        let state = lock(&self.0);
        state.check(offsets)?;
        state.proof.clone().ok_or_else(|| {
            ClusterError::new(
                ClusterErrorKind::OwnershipLost,
                "this is no member of the group at present",
            )
        })
    }
}

impl State {
    fn renew_proof(&mut self) {
        self.proof = GroupMetadata::of(&self.client).map(Arc::new);
    }

    fn check(&self, offsets: &[OffsetCommit]) -> Result<()> {
        let lost = offsets.iter().find(|offset| {
            let owned = self.owned.get(&offset.partition);
            owned.is_none_or(|owned| owned.ownership != offset.ownership)
        });
        match lost {
            None => Ok(()),
            Some(offset) => Err(ClusterError::new(
                ClusterErrorKind::OwnershipLost,
                format_args!("{} is no longer ours", offset.partition),
            )),
        }
    }
}
