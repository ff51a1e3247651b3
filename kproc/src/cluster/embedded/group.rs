//! Consumer groups, as the cluster sees them: members, who owns what, committed offsets.
//!
//! Rebalancing is incremental: whenever members or topics change, the target is worked out anew; partitions
//! that move are asked back from their owners and given on when these release them (or their time is up), the
//! others stay where they are.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    assignor::range,
    core::{Core, Shared},
    driver::Driver,
    link::Link,
    mailbox::Mailbox,
    queue::EmbeddedQueue,
};
use crate::{
    cluster::{
        Assignment, ClusterError, ClusterErrorKind, CommittedOffset, Event, JoinRequest, OffsetCommit,
        Ownership, Result, RevokeToken,
    },
    record::TopicPartition,
};

/// A member's number. Members are served in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemberId(pub(super) u64);

/// Partitions under their ownership numbers.
pub(super) type Owned = Vec<(TopicPartition, Ownership)>;

/// A group.
#[derive(Default)]
pub(super) struct GroupState {
    pub(super) members: BTreeMap<MemberId, MemberState>,
    owners: BTreeMap<TopicPartition, Owner>,
    pub(super) offsets: BTreeMap<TopicPartition, CommittedOffset>,
}

/// A member.
pub(super) struct MemberState {
    pub(super) request: JoinRequest,
    /// The connection it came over.
    pub(super) instance: u64,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) link: Link,
    pub(super) presence: Presence,
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
struct Owner {
    member: MemberId,
    ownership: Ownership,
    /// Asked back, and not yet released.
    revoking: bool,
    /// Set when the ownership ends: the queue falls silent.
    over: Arc<AtomicBool>,
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

    pub(super) fn store(&mut self, offsets: Vec<OffsetCommit>) {
        for OffsetCommit {
            partition,
            next,
            metadata,
            ..
        } in offsets
        {
            self.offsets.insert(partition, CommittedOffset { next, metadata });
        }
    }

    /// Ends an ownership, if it is the present one.
    fn end(&mut self, place: &TopicPartition, ownership: Ownership) -> bool {
        let present = self
            .owners
            .get(place)
            .is_some_and(|owner| owner.ownership == ownership);
        if present && let Some(owner) = self.owners.remove(place) {
            owner.over.store(true, Ordering::SeqCst);
        }
        present
    }

    /// Ends all ownerships of a member, and says which they were.
    fn end_all(&mut self, member: MemberId) -> Owned {
        let own = self.owners.iter().filter(|(_, owner)| owner.member == member);
        let own: Owned = own
            .map(|(place, owner)| (place.clone(), owner.ownership))
            .collect();
        for (place, ownership) in &own {
            self.end(place, *ownership);
        }
        own
    }
}

impl Core {
    /// Refuses offsets that the member may not commit.
    pub(super) fn check_commit(&self, group: &str, member: MemberId, offsets: &[OffsetCommit]) -> Result<()> {
        let state = self.groups.get(group);
        let lost = offsets.iter().find(|offset| {
            !state.is_some_and(|state| state.owns(member, &offset.partition, offset.ownership))
        });
        if let Some(OffsetCommit {
            partition, ownership, ..
        }) = lost
        {
            let message = format_args!(
                "{partition} is not ours any more in group `{group}` (assignment {}): its offset cannot be committed",
                ownership.0
            );
            return Err(ClusterError::new(ClusterErrorKind::OwnershipLost, message));
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
        let Some(member) = self
            .groups
            .get_mut(group)
            .and_then(|state| state.members.get_mut(&id))
        else {
            return;
        };
        let before = std::mem::replace(&mut member.presence, Presence::Here);
        // The news may be older than the end of who sent it.
        let gone = member.link.is_severed() || member.mailbox.is_closed();
        if before == Presence::Out {
            self.balance(driver, group);
        }
        if gone {
            self.fall_silent(driver, group, id);
        }
    }

    /// Nothing is heard of a member from now on.
    pub(super) fn fall_silent(&mut self, driver: &dyn Driver, group: &str, id: MemberId) {
        let Some(member) = self
            .groups
            .get_mut(group)
            .and_then(|state| state.members.get_mut(&id))
        else {
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
            let Some(member) = self.groups.get(&group).and_then(|state| state.members.get(&id)) else {
                continue;
            };
            let mailbox = member.mailbox.clone();
            if mailbox.is_closed() {
                continue; // The object is gone, though the link is back.
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
        let lost = state.end_all(id);
        if !lost.is_empty() {
            self.post(group, id, Event::Lost(lost));
        }
        self.forget_if_gone(group, id);
        self.balance(driver, group);
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
        state.end_all(id);
        self.drop_later(member);
        self.balance(driver, group);
    }

    /// A member has given back what it was asked for.
    pub(super) fn release(&mut self, driver: &dyn Driver, group: &str, released: &Owned) {
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        for (place, ownership) in released {
            state.end(place, *ownership);
        }
        self.balance(driver, group);
    }

    /// A member has not given back in time what it was asked for.
    fn release_is_late(&mut self, driver: &dyn Driver, group: &str, id: MemberId, asked: Owned) {
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        let lost: Owned = asked
            .into_iter()
            .filter(|(place, ownership)| state.end(place, *ownership))
            .collect();
        if !lost.is_empty() {
            self.post(group, id, Event::Lost(lost));
            self.balance(driver, group);
        }
    }

    /// Works out the target of every group, for topics have changed.
    pub(super) fn balance_all(&mut self, driver: &dyn Driver) {
        for group in self.groups.keys().cloned().collect::<Vec<_>>() {
            self.balance(driver, &group);
        }
    }

    /// Asks back what is to move, and gives what is free.
    fn balance(&mut self, driver: &dyn Driver, group: &str) {
        let counts = self
            .topics
            .counts()
            .map(|(name, count)| (name.clone(), count))
            .collect();
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        let present = state
            .members
            .iter()
            .filter(|(_, member)| member.presence != Presence::Out);
        let present: Vec<_> = present
            .map(|(id, member)| (*id, &member.request.topics[..]))
            .collect();
        let target = range(&present, &counts);

        let mut asked: BTreeMap<MemberId, Owned> = BTreeMap::new();
        for (place, owner) in &mut state.owners {
            if target.get(place) != Some(&owner.member) && !owner.revoking {
                owner.revoking = true;
                asked
                    .entry(owner.member)
                    .or_default()
                    .push((place.clone(), owner.ownership));
            }
        }
        let mut given: BTreeMap<MemberId, Vec<TopicPartition>> = BTreeMap::new();
        for (place, member) in target {
            if !state.owners.contains_key(&place) {
                given.entry(member).or_default().push(place);
            }
        }
        for (member, places) in asked {
            self.ask_back(driver, group, member, places);
        }
        for (member, places) in given {
            self.give(group, member, places);
        }
    }

    fn ask_back(&mut self, driver: &dyn Driver, group: &str, id: MemberId, asked: Owned) {
        let Some(member) = self.groups.get(group).and_then(|state| state.members.get(&id)) else {
            return;
        };
        let deadline = driver.now().saturating_add(member.request.revoke_timeout);
        let (link, mailbox, me) = (member.link.clone(), Arc::downgrade(&member.mailbox), self.me());
        let release = {
            let (group, released) = (group.to_owned(), asked.clone());
            move || {
                // A member that crashed releases nothing; its session runs out.
                if mailbox.upgrade().is_none_or(|mailbox| mailbox.is_closed()) {
                    return;
                }
                link.tell(move || {
                    if let Some(shared) = me.upgrade() {
                        shared.with(|core| core.release(&*shared.driver, &group, &released));
                    }
                });
            }
        };
        self.post(
            group,
            id,
            Event::Revoked(asked.clone(), RevokeToken::new(deadline, release)),
        );
        let group = group.to_owned();
        self.run_at(deadline, move |shared| {
            shared.with(|core| core.release_is_late(&*shared.driver, &group, id, asked));
        });
    }

    fn give(&mut self, group: &str, id: MemberId, places: Vec<TopicPartition>) {
        let mut assignments = Vec::with_capacity(places.len());
        for place in places {
            let (ownership, waiter) = (Ownership(self.number()), self.number());
            let Some(topic) = self.topics.get(&place.topic).map(|topic| topic.id) else {
                continue;
            };
            let Some(shared) = self.me().upgrade() else { return };
            let Some(state) = self.groups.get_mut(group) else {
                return;
            };
            let Some(member) = state.members.get(&id) else {
                return;
            };
            let over = Arc::new(AtomicBool::new(false));
            let queue = EmbeddedQueue {
                shared,
                link: member.link.clone(),
                place: place.clone(),
                topic,
                isolation: member.request.isolation,
                waiter,
                over: over.clone(),
                position: None,
                sought: None,
            };
            state.owners.insert(
                place.clone(),
                Owner {
                    member: id,
                    ownership,
                    revoking: false,
                    over,
                },
            );
            assignments.push(Assignment {
                partition: place,
                ownership,
                queue: Box::new(queue),
            });
        }
        self.post(group, id, Event::Assigned(assignments));
    }

    /// Puts an event into a member's mailbox, when it arrives there.
    fn post(&mut self, group: &str, id: MemberId, event: Event) {
        let Some(member) = self.groups.get(group).and_then(|state| state.members.get(&id)) else {
            return;
        };
        let (link, mailbox) = (member.link.clone(), member.mailbox.clone());
        if let Some(due) = link.delivery() {
            let job = move |shared: &Shared| {
                shared.with(|core| core.put(&mailbox, event));
            };
            self.run_at(due, job);
        } else {
            self.put(&mailbox, event);
        }
    }

    fn put(&mut self, mailbox: &Mailbox, event: Event) {
        match mailbox.put(event) {
            Ok(Some(waker)) => self.wake(waker),
            Ok(None) => {}
            Err(unwanted) => self.drop_later(unwanted),
        }
    }
}
