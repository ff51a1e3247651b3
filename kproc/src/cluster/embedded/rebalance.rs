//! Who gets which partitions, and when.
//!
//! Rebalancing is incremental: whenever members or topics change, the target is worked out anew; partitions
//! that move are asked back from their owners and given on when these release them (or their time is up), the
//! others stay where they are.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use super::{
    assignor::range,
    core::{Core, Shared},
    driver::Driver,
    group::{MemberId, Owned, Owner, Presence},
    mailbox::Mailbox,
    queue::EmbeddedQueue,
};
use crate::{
    cluster::{Assignment, Event, Ownership, RevokeToken},
    record::TopicPartition,
};

impl Core {
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
    pub(super) fn balance(&mut self, driver: &dyn Driver, group: &str) {
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

    /// A member is asked for partitions back, those with a number in `mask`, as by a rebalance that comes to something else.
    /// They are given to whoever is to have them then: perhaps to the same.
    #[cfg(test)]
    pub(super) fn want_back(&mut self, driver: &dyn Driver, group: &str, id: MemberId, mask: u64) {
        let Some(state) = self.groups.get_mut(group) else {
            return;
        };
        let mut asked = Owned::new();
        for (place, owner) in &mut state.owners {
            let wanted = mask >> (place.partition.get() % 64) & 1 == 1;
            if wanted && owner.member == id && !owner.revoking {
                owner.revoking = true;
                asked.push((place.clone(), owner.ownership));
            }
        }
        if !asked.is_empty() {
            self.ask_back(driver, group, id, asked);
        }
    }

    fn ask_back(&mut self, driver: &dyn Driver, group: &str, id: MemberId, asked: Owned) {
        let Some(member) = self.member(group, id) else {
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
        let (Some(shared), Some(member)) = (self.me().upgrade(), self.member(group, id)) else {
            return;
        };
        let (link, isolation) = (member.link.clone(), member.request.isolation);
        let mut assignments = Vec::with_capacity(places.len());
        for partition in places {
            let Some(topic) = self.topics.get(&partition.topic).map(|topic| topic.id) else {
                continue;
            };
            let (ownership, waiter) = (Ownership(self.number()), self.number());
            let over = Arc::new(AtomicBool::new(false));
            let owner = Owner {
                member: id,
                ownership,
                revoking: false,
                over: over.clone(),
            };
            if let Some(state) = self.groups.get_mut(group) {
                state.owners.insert(partition.clone(), owner);
                if let Some(member) = state.members.get_mut(&id) {
                    member.epoch.advance();
                }
            }
            let queue = Box::new(EmbeddedQueue {
                shared: shared.clone(),
                link: link.clone(),
                place: partition.clone(),
                topic,
                isolation,
                waiter,
                over,
                position: None,
                sought: None,
                first: None,
            });
            assignments.push(Assignment {
                partition,
                ownership,
                queue,
            });
        }
        self.post(group, id, Event::Assigned(assignments));
    }

    /// Puts an event into a member's mailbox, when it arrives there.
    pub(super) fn post(&mut self, group: &str, id: MemberId, event: Event) {
        self.post_with(group, id, event, || {});
    }

    /// Puts an event into a member's mailbox, and does what comes with it, when it arrives there.
    pub(super) fn post_with(
        &mut self,
        group: &str,
        id: MemberId,
        event: Event,
        arrive: impl FnOnce() + Send + 'static,
    ) {
        let Some(member) = self.member(group, id) else {
            return self.drop_later(event); // Tokens and queues talk to the cluster when they are dropped.
        };
        let (link, mailbox) = (member.link.clone(), member.mailbox.clone());
        if let Some(due) = link.delivery() {
            let job = move |shared: &Shared| {
                arrive();
                shared.with(|core| core.put(&mailbox, event));
            };
            self.run_at(due, job);
        } else {
            arrive();
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
