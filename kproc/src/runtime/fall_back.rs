//! Falling back to the last commit: the task is dropped with all that it holds, and goes back to the restorer,
//! which brings its state and its positions to what the cluster says was committed. The worker that gets it
//! then builds its processors anew.

use std::{collections::BTreeSet, time::Duration};

use super::{
    error::RunError, order::RestorerOrder, passages, sabotage::Sabotage, seat::Fate, slot::Tenure,
    worker::Worker,
};
use crate::{
    TaskId,
    cluster::{ClusterError, ClusterErrorKind, Positions},
};

/// Why a commit did not come about.
pub(super) enum Fault {
    /// Records were not written.
    Production(ClusterError),
    /// The offsets were refused.
    Offsets(ClusterError),
    /// The transaction was not committed, or nobody knows.
    Transaction(ClusterError),
    /// The time was over.
    Interrupted,
}

/// So many fall-backs without a commit between them are no accident any more.
const MOST_FALLS: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Worker {
    /// A commit of these tasks has failed.
    pub(super) async fn commit_fails(&mut self, tasks: &[Tenure], fault: Fault, deadline: Option<Duration>) {
        self.clock.comes_to(passages::NOT_COMMITTED);
        if self.plan.has(Sabotage::DoneBeforeAbortKept) {
            let task = |tenure: &Tenure| self.seats.get(tenure)?.slot.task.as_ref();
            let kept = tasks
                .iter()
                .filter_map(|tenure| Some((*tenure, task(tenure)?.unchanged())));
            let kept: Vec<_> = kept.collect();
            self.save_all(&kept, &Positions::new(), self.clock.wall()).await;
        }
        match fault {
            Fault::Production(error) if !self.outlet.is_transactional() => {
                self.production_fails(tasks, &error).await;
            }
            Fault::Production(error) | Fault::Transaction(error) => {
                self.transaction_fails(tasks, &error, deadline).await;
            }
            Fault::Offsets(error) => {
                let what = match error.kind {
                    ClusterErrorKind::UnknownTopic => {
                        "cannot commit offsets, for a topic was deleted, or deleted and made again, while the application ran"
                    }
                    _ => "cannot commit offsets",
                };
                self.supervisor.fail(RunError::cluster(what, &error));
                self.void(tasks);
            }
            Fault::Interrupted => {
                // The verb was dropped: what it did is not known, and the producer cannot be used any more.
                self.replace_producer();
                self.void(tasks);
                let tasks = self.senders(tasks);
                self.supervisor
                    .late(&format!("the commit of {tasks} was still under way"));
            }
        }
    }

    /// Records could not be written. It is not known whose: all that have sent any fall back.
    async fn production_fails(&mut self, tasks: &[Tenure], error: &ClusterError) {
        let concerned: Vec<Tenure> = self
            .seats
            .iter()
            .filter(|(tenure, seat)| seat.sent || tasks.contains(tenure))
            .map(|(tenure, _)| *tenure)
            .collect();
        // With what is known now, a refused record fails in its handler when the task comes to it again.
        let learned = is_refusal(error) && self.learn_again(tasks).await;
        self.renew_producer();
        if learned || error.kind.is_transient() {
            self.go_back(&concerned, error);
        } else {
            self.cannot_write(&concerned, error);
        }
    }

    /// A transaction with what these tasks have sent was not committed, or nobody knows. Falling back, they hear from
    /// the cluster what was.
    async fn transaction_fails(
        &mut self,
        tasks: &[Tenure],
        error: &ClusterError,
        deadline: Option<Duration>,
    ) {
        use ClusterErrorKind as Kind;
        match error.kind {
            // The producer lives on, once the transaction is aborted.
            Kind::AbortTransaction | Kind::OwnershipLost => {
                let aborted = self.away.beside(self.outlet.abort(), deadline).await;
                match aborted {
                    Some(Ok(())) => {}
                    Some(Err(error)) => self.rebuild_producer(&error),
                    None => self.renew_producer(),
                }
                self.go_back(tasks, error);
            }
            // A new producer of the same id settles what the old one left open.
            Kind::Retriable | Kind::Unknown | Kind::Fenced | Kind::ProducerFailed => {
                self.rebuild_producer(error);
                self.go_back(tasks, error);
            }
            // A topic does not take a record, or a person must do something.
            Kind::RecordTooLarge
            | Kind::UnknownTopic
            | Kind::TopicExists
            | Kind::OffsetOutOfRange
            | Kind::Unauthorized
            | Kind::Unsupported
            | Kind::Fatal => {
                let learned = is_refusal(error) && self.learn_again(tasks).await;
                self.renew_producer();
                if learned {
                    self.go_back(tasks, error);
                } else {
                    self.cannot_write(tasks, error);
                }
            }
        }
    }

    /// These fall back, unless that has become a habit.
    fn go_back(&mut self, tasks: &[Tenure], error: &ClusterError) {
        for tenure in tasks {
            let Some(seat) = self.seats.get_mut(tenure).filter(|seat| seat.fate != Fate::Void) else {
                continue;
            };
            tracing::warn!(task = %tenure.task, %error, "not committed; the task goes back to its last commit");
            if self.plan.has(Sabotage::NoFallBack) {
                continue;
            }
            seat.fate = Fate::FallsBack;
            seat.slot.falls += 1;
            if seat.slot.falls > MOST_FALLS {
                seat.fate = Fate::Void;
                self.supervisor.fail(RunError::Cluster {
                    what: format!(
                        "task {} has gone back to its last commit {MOST_FALLS} times in a row",
                        tenure.task
                    ),
                    reason: error.to_string(),
                });
            }
        }
    }

    /// Nothing of these is committed, and the instance ends.
    fn cannot_write(&mut self, tasks: &[Tenure], error: &ClusterError) {
        let what = format!("cannot write what {} sent", self.senders(tasks));
        self.supervisor.fail(RunError::cluster(what, error));
        self.void(tasks);
    }

    /// Which tasks these are, for a person.
    fn senders(&self, tasks: &[Tenure]) -> String {
        let topology = &self.plan.topology;
        let tasks: BTreeSet<TaskId> = tasks.iter().map(|tenure| tenure.task).collect();
        let one = |task: &TaskId| {
            let processors = topology.groups[task.group].processors.iter();
            let names = processors.map(|processor| format!("`{}`", topology.processors[*processor].name));
            format!("task {task} ({})", names.collect::<Vec<_>>().join(", "))
        };
        tasks.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The producer of transactions has failed, whatever it was doing and whyever. This is the only place where that is
    /// dealt with: what its transaction comes to is settled, at the latest, before the tasks go on.
    fn rebuild_producer(&mut self, error: &ClusterError) {
        let max_batch = self.plan.topology.bindings.limits().smallest();
        if let Err(error) = self.outlet.rebuild(max_batch, error) {
            self.supervisor.fail(error);
        }
    }

    /// Makes the producer anew, of which nobody knows what it has written. All that have sent anything fall back: what was
    /// not written is lost with it, whoever's commit it was that has failed.
    pub(super) fn replace_producer(&mut self) {
        self.renew_producer();
        for seat in self.seats.values_mut() {
            if seat.sent && seat.fate != Fate::Void {
                seat.fate = Fate::FallsBack;
            }
        }
    }

    /// The producer is of no more use, for no fault of its own.
    fn renew_producer(&mut self) {
        let max_batch = self.plan.topology.bindings.limits().smallest();
        if let Err(error) = self.outlet.renew(max_batch) {
            self.supervisor.fail(error);
        }
    }

    /// These are not run and not committed any more.
    fn void(&mut self, tasks: &[Tenure]) {
        for tenure in tasks {
            if let Some(seat) = self.seats.get_mut(tenure) {
                seat.fate = Fate::Void;
            }
        }
    }

    /// A task whose partition is not ours any more, though the event has not come yet: nothing of it counts.
    pub(super) fn disowned(&mut self, tenure: Tenure) {
        tracing::warn!(task = %tenure.task, "the partition is not ours any more; what was not committed is dropped");
        self.void(&[tenure]);
    }

    /// Hands the tasks that must fall back, and are at rest, to the restorer. What was to be committed before has
    /// been.
    pub(super) fn fall_back_due(&mut self) {
        let due: Vec<Tenure> = self
            .seats
            .iter()
            .filter(|(_, seat)| {
                matches!(seat.fate, Fate::FallsBack | Fate::BuiltAnew) && seat.slot.task.is_some()
            })
            .map(|(tenure, _)| *tenure)
            .collect();
        for tenure in due {
            let Some(slot) = self.take_back(tenure) else {
                continue;
            };
            let wait = match slot.falls {
                0 => Duration::ZERO,
                falls => (FIRST_WAIT * 2_u32.saturating_pow(falls - 1)).min(LONGEST_WAIT),
            };
            let not_before = self.clock.now() + wait;
            let open = RestorerOrder::Open {
                slot: Box::new(slot),
                not_before,
            };
            self.clock.comes_to(passages::HANDED_BACK);
            // A restorer that has ended is one that stops: there is no other time.
            if let Err(refused) = self.restorer.send(open)
                && let RestorerOrder::Open { slot, .. } = refused.0
            {
                let tenure = slot.tenure;
                slot.close();
                self.board.gone(tenure);
            }
        }
    }
}

/// Whether a topic does not take a record.
fn is_refusal(error: &ClusterError) -> bool {
    matches!(
        error.kind,
        ClusterErrorKind::RecordTooLarge | ClusterErrorKind::UnknownTopic
    )
}
