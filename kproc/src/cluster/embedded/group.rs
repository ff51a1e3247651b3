//! Consumer groups, as the cluster sees them: members and their sessions, who owns what, committed offsets.
//! (How partitions move is in `rebalance`.)

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{core::Core, driver::Driver, link::Link, mailbox::Mailbox};
use crate::{
    cluster::{
        ClusterError, ClusterErrorKind, CommittedOffset, Event, JoinRequest, MemberDescription, OffsetCommit,
        Ownership, Result,
    },
    record::TopicPartition,
};

/// A member's number. Members are served in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemberId(pub(super) u64);

/// Counts what a member was given and what was taken from it. What comes with a commit proves that the member is not an
/// older one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch(u64);

impl Epoch {
    pub(super) fn advance(&mut self) {
        self.0 += 1;
    }
}

/// Partitions under their ownership numbers.
pub(super) type Owned = Vec<(TopicPartition, Ownership)>;

/// A group.
#[derive(Default)]
pub(super) struct GroupState {
    pub(super) members: BTreeMap<MemberId, MemberState>,
    pub(super) owners: BTreeMap<TopicPartition, Owner>,
    pub(super) offsets: BTreeMap<TopicPartition, CommittedOffset>,
    /// The commits that these are of.
    written: BTreeMap<TopicPartition, CommitNumber>,
}

/// A commit's place in the order in which commits came, as in Kafka's log of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CommitNumber(pub(super) u64);

/// A member.
pub(super) struct MemberState {
    pub(super) request: JoinRequest,
    /// The connection it came over.
    pub(super) instance: u64,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) link: Link,
    pub(super) presence: Presence,
    pub(super) epoch: Epoch,
    /// Its epoch when its session ran out, which it does not know of until it is heard again.
    pub(super) unaware: Option<Epoch>,
    /// Lost while nothing was heard of it: it is told once it is heard again.
    pub(super) untold: Vec<(TopicPartition, Owner)>,
}

/// Whether a member is part of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// Not (any more): it has not joined yet, or its session has run out.
    Out,
    /// It is heard of.
    Here,
    /// Nothing was heard of it since then; its session is running out.
    Silent(Duration),
}

/// Who has a partition.
pub(super) struct Owner {
    pub(super) member: MemberId,
    pub(super) ownership: Ownership,
    /// Asked back, and not yet released.
    pub(super) revoking: bool,
    /// Set when the ownership ends: the queue falls silent.
    pub(super) over: Arc<AtomicBool>,
}

impl GroupState {
    /// Whether this is the present ownership of the partition.
    fn owns(&self, member: MemberId, place: &TopicPartition, ownership: Ownership) -> bool {
        let owner = self.owners.get(place);
        owner.is_some_and(|owner| owner.member == member && owner.ownership == ownership)
    }

    /// Whether anybody is part of the group.
    pub(super) fn is_empty(&self) -> bool {
        self.members
            .values()
            .all(|member| member.presence == Presence::Out)
    }

    /// Its members, as others see them.
    pub(super) fn describe(&self) -> Vec<MemberDescription> {
        let present = self.members.values();
        let present = present.filter(|member| member.presence != Presence::Out);
        let mut members: Vec<_> = present
            .map(|member| MemberDescription {
                client_id: member.request.client_id.clone(),
                host: format!("instance {}", member.instance),
            })
            .collect();
        members.sort();
        members
    }

    pub(super) fn store(&mut self, number: CommitNumber, offsets: Vec<OffsetCommit>) {
        for OffsetCommit {
            partition,
            next,
            metadata,
            ..
        } in offsets
        {
            self.put(number, partition, CommittedOffset { next, metadata });
        }
    }

    /// Takes an offset, but not over one of a later commit: a transaction's counts as of when it was sent, not of when its
    /// marker is written.
    pub(super) fn put(&mut self, number: CommitNumber, place: TopicPartition, offset: CommittedOffset) {
        let last = self.written.entry(place.clone()).or_insert(number);
        if *last <= number {
            *last = number;
            self.offsets.insert(place, offset);
        }
    }

    /// Ends an ownership, if it is the present one.
    pub(super) fn end(&mut self, place: &TopicPartition, ownership: Ownership) -> bool {
        let present = self
            .owners
            .get(place)
            .is_some_and(|owner| owner.ownership == ownership);
        if present && let Some(owner) = self.owners.remove(place) {
            owner.over.store(true, Ordering::SeqCst);
            if let Some(member) = self.members.get_mut(&owner.member) {
                member.epoch.advance();
            }
        }
        present
    }

    /// Ends all ownerships of a member, and says which they were. It does not know yet.
    fn end_all(&mut self, member: MemberId) -> Vec<(TopicPartition, Owner)> {
        let (own, others) = std::mem::take(&mut self.owners)
            .into_iter()
            .partition(|(_, owner)| owner.member == member);
        self.owners = others;
        if let Some(member) = self.members.get_mut(&member) {
            member.epoch.advance();
        }
        BTreeMap::into_iter(own).collect()
    }
}

impl Core {
    /// What a member proves with that it may commit these offsets, if it has their partitions as far as it knows. This is
    /// the member's own look, before a request leaves: without it, brokers would take too much.
    pub(super) fn proof(
        &self,
        group: &str,
        id: MemberId,
        offsets: &[OffsetCommit],
        gated: bool,
    ) -> Result<Epoch> {
        let state = self.groups.get(group);
        let member = state.and_then(|state| state.members.get(&id));
        let has = |offset: &OffsetCommit| {
            let lost_unheard = member.into_iter().flat_map(|member| &member.untold);
            state.is_some_and(|state| state.owns(id, &offset.partition, offset.ownership))
                || lost_unheard
                    .into_iter()
                    .any(|(place, owner)| *place == offset.partition && owner.ownership == offset.ownership)
        };
        match offsets.iter().find(|offset| gated && !has(offset)) {
            Some(lost) => Err(not_ours(group, lost)),
            None => Ok(member.map_or(Epoch::default(), |member| match member.unaware {
                // Not the present one, with which it could commit what it has lost.
                Some(known) if gated => known,
                _ => member.epoch,
            })),
        }
    }

    /// Refuses offsets that a member may not commit, as brokers do. Of a member that is up to date, they take everything.
    pub(super) fn check_commit(
        &self,
        group: &str,
        id: MemberId,
        epoch: Epoch,
        offsets: &[OffsetCommit],
    ) -> Result<()> {
        let state = self.groups.get(group);
        let present = state.and_then(|state| {
            let member = state.members.get(&id)?;
            (member.presence != Presence::Out).then_some((state, member))
        });
        let refused = match present {
            None => offsets.first(),
            Some((_, member)) if member.epoch == epoch => None,
            // What it still has, it may commit (KIP-1251).
            Some((state, _)) => offsets
                .iter()
                .find(|offset| !state.owns(id, &offset.partition, offset.ownership)),
        };
        if let Some(offset) = refused {
            return Err(not_ours(group, offset));
        }
        offsets
            .iter()
            .try_for_each(|offset| self.topics.log(&offset.partition).map(drop))
    }

    /// A group's committed offsets, unless a transaction holds others.
    pub(super) fn stable_offsets(
        &self,
        group: &str,
        places: &[TopicPartition],
    ) -> Result<Vec<Option<CommittedOffset>>> {
        if let Some(held) = places.iter().find(|place| self.transactions.hold(group, place)) {
            let message =
                format_args!("an undecided transaction holds an offset of {held} in group `{group}`");
            return Err(ClusterError::new(ClusterErrorKind::Retriable, message));
        }
        let offsets = self.groups.get(group).map(|state| &state.offsets);
        Ok(places.iter().map(|place| offsets?.get(place).cloned()).collect())
    }

    /// A member is heard of (again).
    pub(super) fn hear(&mut self, driver: &dyn Driver, group: &str, id: MemberId) {
        let Some(member) = self.member_mut(group, id) else {
            return;
        };
        let before = std::mem::replace(&mut member.presence, Presence::Here);
        member.unaware = None;
        // The news may be older than the end of who sent it.
        let gone = member.link.is_silent() || member.mailbox.is_closed();
        let lost = std::mem::take(&mut member.untold);
        self.tell_lost(group, id, lost);
        if before == Presence::Out {
            self.balance(driver, group);
        }
        if gone {
            self.fall_silent(driver, group, id);
        }
    }

    /// Nothing is heard of a member from now on.
    pub(super) fn fall_silent(&mut self, driver: &dyn Driver, group: &str, id: MemberId) {
        let Some(member) = self.member_mut(group, id) else {
            return;
        };
        if member.presence != Presence::Here {
            return self.forget_if_gone(group, id);
        }
        let now = driver.now();
        member.presence = Presence::Silent(now);
        let due = now.saturating_add(member.request.session_timeout);
        let group = group.to_owned();
        self.run_at(due, move |shared| {
            shared.with(|core| core.session_ends(&*shared.driver, &group, id, now));
        });
    }

    /// Nothing is heard of an instance's members from now on.
    pub(super) fn instance_falls_silent(&mut self, driver: &dyn Driver, instance: u64) {
        for (group, member) in self.members_of(instance) {
            self.fall_silent(driver, &group, member);
        }
    }

    /// An instance's members are heard of again.
    pub(super) fn instance_is_back(&mut self, driver: &dyn Driver, instance: u64) {
        for (group, id) in self.members_of(instance) {
            let Some(member) = self.member(&group, id) else {
                continue;
            };
            let mailbox = member.mailbox.clone();
            if mailbox.is_closed() || member.link.is_silent() {
                continue; // The object is gone, though the link is back, or the process stands still.
            }
            if let Some(waker) = mailbox.waker() {
                self.wake(waker); // Events may have come meanwhile.
            }
            self.hear(driver, &group, id);
        }
        let logs = self
            .topics
            .iter_mut()
            .flat_map(|(_, topic)| &mut topic.partitions);
        let wakers: Vec<_> = logs.flat_map(|log| log.waiters.take()).collect();
        self.wake_readers(wakers);
    }

    /// An instance's members lose all they have, and are heard of a moment later.
    pub(super) fn evict_instance(&mut self, driver: &dyn Driver, instance: u64) {
        let now = driver.now();
        for (group, id) in self.members_of(instance) {
            let present = |member: &&mut MemberState| member.presence == Presence::Here;
            if let Some(member) = self.member_mut(&group, id).filter(present) {
                member.presence = Presence::Silent(now);
                self.session_ends(driver, &group, id, now);
            }
        }
        let due = now + driver.latency().unwrap_or_default();
        self.run_at(due, move |shared| {
            shared.with(|core| core.instance_is_back(&*shared.driver, instance));
        });
    }

    /// An instance's members hear that they cannot be members any more. What they had is theirs until they leave, or until
    /// nothing has been heard of them for as long as a session lasts.
    pub(super) fn expel_instance(&mut self, instance: u64, kind: ClusterErrorKind) {
        for (group, id) in self.members_of(instance) {
            let message = format_args!("the group `{group}` refuses this member");
            let failed = Event::Failed(ClusterError::new(kind, message));
            self.post(&group, id, failed);
        }
    }

    /// An instance's members are asked for partitions back.
    #[cfg(test)]
    pub(super) fn want_back_from(&mut self, driver: &dyn Driver, instance: u64, mask: u64) {
        for (group, id) in self.members_of(instance) {
            self.want_back(driver, &group, id, mask);
        }
    }

    fn members_of(&self, instance: u64) -> Vec<(String, MemberId)> {
        let members = self
            .groups
            .iter()
            .flat_map(|(group, state)| state.members.iter().map(move |it| (group, it)));
        let own = members.filter(|(_, (_, member))| member.instance == instance);
        own.map(|(group, (id, _))| (group.clone(), *id)).collect()
    }

    fn session_ends(&mut self, driver: &dyn Driver, group: &str, id: MemberId, since: Duration) {
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        let Some(member) = state.members.get_mut(&id) else {
            return;
        };
        if member.presence != Presence::Silent(since) {
            return; // It was heard of meanwhile.
        }
        member.presence = Presence::Out;
        member.unaware = Some(member.epoch);
        let lost = state.end_all(id);
        if let Some(member) = state.members.get_mut(&id) {
            member.untold.extend(lost);
        }
        self.forget_if_gone(group, id);
        self.balance(driver, group);
    }

    /// Tells a member what it has lost. Until then it goes on as if it had it.
    fn tell_lost(&mut self, group: &str, id: MemberId, lost: Vec<(TopicPartition, Owner)>) {
        if lost.is_empty() {
            return;
        }
        let numbered = |(place, owner): &(TopicPartition, Owner)| (place.clone(), owner.ownership);
        let event = Event::Lost(lost.iter().map(numbered).collect());
        self.post_with(group, id, event, move || {
            for (_, owner) in lost {
                owner.over.store(true, Ordering::SeqCst);
            }
        });
    }

    /// Forgets a member that is out of the group and that nobody can bring back.
    fn forget_if_gone(&mut self, group: &str, id: MemberId) {
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        let gone = |member: &MemberState| member.presence == Presence::Out && member.mailbox.is_closed();
        if state.members.get(&id).is_some_and(gone)
            && let Some(member) = state.members.remove(&id)
        {
            self.drop_later(member);
        }
    }

    /// A member goes for good.
    pub(super) fn leave(&mut self, driver: &dyn Driver, group: &str, id: MemberId) {
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        let Some(member) = state.members.remove(&id) else {
            return;
        };
        for (_, owner) in state.end_all(id) {
            owner.over.store(true, Ordering::SeqCst);
        }
        self.drop_later(member);
        self.balance(driver, group);
    }

    pub(super) fn member(&self, group: &str, id: MemberId) -> Option<&MemberState> {
        self.groups.get(group)?.members.get(&id)
    }

    fn member_mut(&mut self, group: &str, id: MemberId) -> Option<&mut MemberState> {
        self.groups.get_mut(group)?.members.get_mut(&id)
    }
}

#[cold]
fn not_ours(group: &str, offset: &OffsetCommit) -> ClusterError {
    let message = format_args!(
        "{} is not ours any more in group `{group}` (assignment {}): its offset cannot be committed",
        offset.partition, offset.ownership.0
    );
    ClusterError::new(ClusterErrorKind::OwnershipLost, message)
}
