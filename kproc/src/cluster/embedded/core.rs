//! The cluster's own state, behind one lock. No foreign code runs under it: wakers, events and jobs are put
//! aside, and dealt with once the lock is released.

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::Waker,
    time::Duration,
};

use uuid::Uuid;

use super::{
    EmbeddedOptions,
    access::Denials,
    compaction,
    driver::{Driver, Job},
    group::GroupState,
    topics::Topics,
    transactions::Transactions,
};
use crate::{
    cluster::{NewTopic, Result},
    record::Timestamp,
};

/// What all connections of a cluster share.
pub(super) struct Shared {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) options: EmbeddedOptions,
    core: Mutex<Core>,
}

/// The state.
pub(super) struct Core {
    me: Weak<Shared>,
    pub(super) topics: Topics,
    pub(super) groups: BTreeMap<String, GroupState>,
    pub(super) transactions: Transactions,
    pub(super) denials: Denials,
    last_number: u64,
    /// Counts what can be seen from outside; see `view`.
    pub(super) version: u64,
    after: Vec<After>,
}

/// Something to be done without the lock.
enum After {
    Wake(Waker),
    /// Records have come: the news takes its time.
    WakeReader(Waker),
    RunAt(Duration, Job),
    Drop(Box<dyn Any + Send>),
}

impl Shared {
    pub(super) fn new(driver: Arc<dyn Driver>, options: EmbeddedOptions) -> Arc<Self> {
        Arc::new_cyclic(|me| {
            let core = Core {
                me: me.clone(),
                topics: Topics::default(),
                groups: BTreeMap::new(),
                transactions: Transactions::default(),
                denials: Denials::default(),
                last_number: 0,
                version: 0,
                after: Vec::new(),
            };
            Self {
                driver,
                options,
                core: Mutex::new(core),
            }
        })
    }

    /// Works on the state, then does what was put aside meanwhile.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let (outcome, after) = {
            // A panic in here is a fault of this crate and has been reported; what is left may still be of use.
            let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = work(&mut core);
            (outcome, std::mem::take(&mut core.after))
        };
        for what in after {
            match what {
                After::Wake(waker) => waker.wake(),
                After::WakeReader(waker) => match self.driver.latency() {
                    Some(latency) => {
                        self.driver
                            .run_at(self.driver.now() + latency, Box::new(move || waker.wake()));
                    }
                    None => waker.wake(),
                },
                After::RunAt(due, job) => self.driver.run_at(due, job),
                After::Drop(what) => drop(what),
            }
        }
        outcome
    }
}

impl Core {
    /// The cluster, for jobs and objects that come back to it.
    pub(super) fn me(&self) -> Weak<Shared> {
        self.me.clone()
    }

    /// A number that was never given before.
    pub(super) fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn wake(&mut self, waker: Waker) {
        self.after.push(After::Wake(waker));
    }

    pub(super) fn wake_readers(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.after.extend(wakers.into_iter().map(After::WakeReader));
    }

    /// Runs a job on the cluster later, if it still exists then.
    pub(super) fn run_at(&mut self, due: Duration, job: impl FnOnce(&Shared) + Send + 'static) {
        let me = self.me.clone();
        let job = move || {
            if let Some(shared) = me.upgrade() {
                job(&shared);
            }
        };
        self.after.push(After::RunAt(due, Box::new(job)));
    }

    /// Drops something that is not known to be harmless.
    pub(super) fn drop_later(&mut self, what: impl Any + Send) {
        self.after.push(After::Drop(Box::new(what)));
    }

    pub(super) fn create_topic(&mut self, driver: &dyn Driver, new: &NewTopic) -> Result<()> {
        let mut random = [0; 16];
        random[..8].copy_from_slice(&driver.random().to_be_bytes());
        random[8..].copy_from_slice(&driver.random().to_be_bytes());
        let id = uuid::Builder::from_random_bytes(random).into_uuid();
        self.version += 1;
        self.topics.create(new, id)?;
        self.balance_all(driver);
        Ok(())
    }

    /// Cleans all logs by their topics' settings.
    pub(super) fn clean(&mut self, wall: Timestamp, how: compaction::Cleaning) {
        let mut gone = Vec::new();
        self.version += 1;
        for (_, topic) in self.topics.iter_mut() {
            for log in &mut topic.partitions {
                gone.extend(how(log, &topic.config, wall));
            }
        }
        self.drop_later(gone);
    }

    /// Cleans all logs again and again.
    pub(super) fn clean_every(&mut self, now: Duration, interval: Duration) {
        self.run_at(now.saturating_add(interval), move |shared| {
            shared.with(|core| {
                core.clean(shared.driver.wall(), compaction::clean);
                core.clean_every(shared.driver.now(), interval);
            });
        });
    }

    pub(super) fn delete_topic(&mut self, driver: &dyn Driver, name: &Arc<str>) -> Result<()> {
        let mut topic = self.topics.delete(name)?;
        self.version += 1;
        let wakers: Vec<_> = topic
            .partitions
            .iter_mut()
            .flat_map(|log| log.waiters.take())
            .collect();
        self.wake_readers(wakers);
        self.drop_later(topic);
        for group in self.groups.values_mut() {
            group.offsets.retain(|place, _| place.topic != *name);
        }
        self.balance_all(driver);
        Ok(())
    }
}

/// For jobs that find the topic they were meant for.
pub(super) fn same_topic(core: &Core, name: &str, id: Uuid) -> bool {
    core.topics.get(name).is_some_and(|topic| topic.id == id)
}
