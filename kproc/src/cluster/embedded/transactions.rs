//! The transaction coordinator: epochs, fencing, time-outs, and what becomes of a transaction's records and offsets.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    core::Core,
    driver::Driver,
    group::{CommitNumber, Epoch, MemberId},
    log::TxnNumber,
    pieces::Piece,
};
use crate::{
    cluster::{ClusterError, ClusterErrorKind, OffsetCommit, Positions, Result},
    record::TopicPartition,
};

/// Kafka's default of `transaction.max.timeout.ms`.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(900);

/// Every transactional id that was ever used.
#[derive(Default)]
pub(super) struct Transactions(BTreeMap<String, Coordinated>);

/// A transactional id.
struct Coordinated {
    /// The epoch of the producer that may use it; those of before are fenced.
    epoch: u64,
    timeout: Duration,
    open: Option<Open>,
}

/// A transaction.
struct Open {
    number: TxnNumber,
    phase: Phase,
    /// Where it has written.
    places: BTreeSet<TopicPartition>,
    /// The offsets it shall commit.
    offsets: Vec<Pending>,
}

/// Offsets that a transaction shall commit.
struct Pending {
    group: String,
    number: CommitNumber,
    offsets: Vec<OffsetCommit>,
}

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Undecided,
    /// It is decided, and its producer knows; its markers are still to be written.
    Decided {
        committed: bool,
    },
}

/// A producer's right to a transactional id.
#[derive(Debug, Clone)]
pub(super) struct Licence {
    pub(super) id: String,
    pub(super) epoch: u64,
}

impl Transactions {
    /// Whether an undecided or unfinished transaction holds offsets of this partition.
    pub(super) fn hold(&self, group: &str, place: &TopicPartition) -> bool {
        let open = self
            .0
            .values()
            .filter_map(|coordinated| coordinated.open.as_ref());
        let mut pending = open.flat_map(|open| &open.offsets);
        pending.any(|pending| {
            pending.group == group && pending.offsets.iter().any(|offset| offset.partition == *place)
        })
    }
}

impl Core {
    /// Aborts what an earlier producer of the id left open, and fences it.
    pub(super) fn init_transactions(
        &mut self,
        driver: &dyn Driver,
        id: &str,
        timeout: Duration,
    ) -> Result<Licence> {
        self.denials.check_transactions(id)?;
        if timeout > LONGEST_TIMEOUT {
            let message = format_args!(
                "init of transactional id `{id}`: the cluster keeps no transaction open for longer than 15 minutes \
                 (`transaction.max.timeout.ms`): set `transaction_timeout` to less"
            );
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        self.finish(driver, id);
        let fresh = Coordinated {
            epoch: 0,
            timeout,
            open: None,
        };
        let coordinated = self.transactions.0.entry(id.to_owned()).or_insert(fresh);
        coordinated.epoch += 1;
        coordinated.timeout = timeout;
        Ok(Licence {
            id: id.to_owned(),
            epoch: coordinated.epoch,
        })
    }

    /// Writes records in the producer's transaction.
    pub(super) fn write_in_transaction(
        &mut self,
        driver: &dyn Driver,
        licence: &Licence,
        pieces: Vec<Piece>,
    ) -> Result<Positions> {
        let open = self.transaction(driver, licence)?;
        let number = open.number;
        open.places.extend(pieces.iter().map(|piece| piece.place.clone()));
        self.write(pieces, Some(number), driver.wall())
    }

    /// Adds offsets to the producer's transaction, if the member may still commit them (KIP-447).
    pub(super) fn send_offsets(
        &mut self,
        driver: &dyn Driver,
        licence: &Licence,
        (group, member, epoch): (&str, MemberId, Epoch),
        offsets: Vec<OffsetCommit>,
    ) -> Result<()> {
        self.licensed(licence)?;
        self.check_commit(group, member, epoch, &offsets)?;
        let number = CommitNumber(self.number());
        let open = self.transaction(driver, licence)?;
        open.offsets.push(Pending {
            group: group.to_owned(),
            number,
            offsets,
        });
        Ok(())
    }

    /// Decides the producer's transaction. Its markers come a moment later, one by one, if messages take time.
    pub(super) fn end_transaction(
        &mut self,
        driver: &dyn Driver,
        licence: &Licence,
        committed: bool,
    ) -> Result<()> {
        let coordinated = self.licensed(licence)?;
        let Some(open) = coordinated
            .open
            .as_mut()
            .filter(|open| open.phase == Phase::Undecided)
        else {
            return Ok(());
        };
        open.phase = Phase::Decided { committed };
        let (id, number) = (licence.id.clone(), open.number);
        if driver.latency().is_none() {
            self.finish(driver, &id);
            return Ok(());
        }
        // Each marker comes to its partition in its own time, and so do the offsets.
        let places: Vec<Option<TopicPartition>> =
            open.places.iter().cloned().map(Some).chain([None]).collect();
        for place in places {
            // Slower than an answer, by which a client may come first to what is not marked yet.
            let due = driver.now() + 10 * driver.latency().unwrap_or_default();
            let id = id.clone();
            self.run_at(due, move |shared| {
                shared.with(|core| core.mark(&*shared.driver, &id, number, place));
            });
        }
        Ok(())
    }

    fn licensed(&mut self, licence: &Licence) -> Result<&mut Coordinated> {
        let coordinated = self.transactions.0.get_mut(&licence.id);
        coordinated.filter(|coordinated| coordinated.epoch == licence.epoch).ok_or_else(|| {
            let message = format_args!(
                "the producer with the transactional id `{}` is fenced: a newer one has taken its place, or its \
                 transaction took too long",
                licence.id
            );
            ClusterError::new(ClusterErrorKind::Fenced, message)
        })
    }

    /// The producer's transaction; it begins now if there is none.
    fn transaction(&mut self, driver: &dyn Driver, licence: &Licence) -> Result<&mut Open> {
        let open = self.licensed(licence)?.open.as_ref();
        if open.is_none_or(|open| open.phase != Phase::Undecided) {
            // A client would wait until the one before is finished.
            self.finish(driver, &licence.id);
            self.begin(driver, licence)?;
        }
        let open = self.licensed(licence)?.open.as_mut();
        open.ok_or_else(|| ClusterError::new(ClusterErrorKind::Fatal, "the transaction did not begin"))
    }

    fn begin(&mut self, driver: &dyn Driver, licence: &Licence) -> Result<()> {
        let number = TxnNumber(self.number());
        let coordinated = self.licensed(licence)?;
        let (phase, places, offsets) = (Phase::Undecided, BTreeSet::new(), Vec::new());
        coordinated.open = Some(Open {
            number,
            phase,
            places,
            offsets,
        });
        let due = driver.now().saturating_add(coordinated.timeout);
        let id = licence.id.clone();
        self.run_at(due, move |shared| {
            shared.with(|core| core.time_out(&*shared.driver, &id, number));
        });
        Ok(())
    }

    /// Aborts a transaction that is older than its producer wanted, and fences the producer.
    fn time_out(&mut self, driver: &dyn Driver, id: &str, number: TxnNumber) {
        let Some(coordinated) = self.transactions.0.get_mut(id) else {
            return;
        };
        let undecided = |open: &Open| open.number == number && open.phase == Phase::Undecided;
        if coordinated.open.as_ref().is_some_and(undecided) {
            coordinated.epoch += 1;
            self.finish(driver, id);
        }
    }

    /// Writes a decided transaction's marker to one partition; `None`: its offsets.
    fn mark(&mut self, driver: &dyn Driver, id: &str, number: TxnNumber, place: Option<TopicPartition>) {
        let coordinated = self.transactions.0.get_mut(id);
        let open = coordinated.and_then(|coordinated| coordinated.open.as_mut());
        let Some(open) = open.filter(|open| open.number == number) else {
            return;
        };
        let committed = open.phase == Phase::Decided { committed: true };
        let (mut places, mut offsets) = (BTreeSet::new(), Vec::new());
        match place {
            Some(place) => places.extend(open.places.take(&place)),
            None => offsets = std::mem::take(&mut open.offsets),
        }
        let is_done = open.places.is_empty() && open.offsets.is_empty();
        self.settle(driver, number, committed, &places, offsets);
        if is_done && let Some(coordinated) = self.transactions.0.get_mut(id) {
            coordinated.open = None;
        }
    }

    /// Writes all markers of the id's transaction, and its offsets. One that is undecided is aborted.
    fn finish(&mut self, driver: &dyn Driver, id: &str) {
        let coordinated = self.transactions.0.get_mut(id);
        let Some(open) = coordinated.and_then(|coordinated| coordinated.open.take()) else {
            return;
        };
        let committed = open.phase == Phase::Decided { committed: true };
        self.settle(driver, open.number, committed, &open.places, open.offsets);
    }

    fn settle(
        &mut self,
        driver: &dyn Driver,
        number: TxnNumber,
        committed: bool,
        places: &BTreeSet<TopicPartition>,
        offsets: Vec<Pending>,
    ) {
        self.version += 1;
        for place in places {
            // A topic may have been deleted meanwhile.
            let Ok(log) = self.topics.log_mut(place) else {
                continue;
            };
            if log.settle(number, committed, driver.wall()) {
                let wakers = log.waiters.take();
                self.wake_readers(wakers);
            }
        }
        for pending in offsets.into_iter().filter(|_| committed) {
            let group = self.groups.entry(pending.group).or_default();
            group.store(pending.number, pending.offsets);
        }
    }
}
