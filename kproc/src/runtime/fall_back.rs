//! Falling back to the last commit: the task is dropped with all that it holds, and goes back to the restorer,
//! which brings its state and its positions to what the cluster says was committed. The worker that gets it
//! then builds its processors anew.

use std::{collections::BTreeSet, time::Duration};

use super::{
    error::RunError,
    order::RestorerOrder,
    seat::Fate,
    slot::Tenure,
    worker::{Worker, new_producer},
};
use crate::{
    TaskId,
    cluster::{ClusterError, ClusterErrorKind},
};

/// Why a commit did not come about.
pub(super) enum Fault {
    /// Records were not written.
    Production(ClusterError),
    /// The offsets were refused.
    Offsets(ClusterError),
    /// The time was over.
    Interrupted,
}

/// So many fall-backs without a commit between them are no accident any more.
const MOST_FALLS: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Worker {
    /// A commit of these tasks has failed.
    pub(super) async fn commit_fails(&mut self, tasks: &[Tenure], fault: Fault) {
        match fault {
            Fault::Production(error) => self.production_fails(tasks, &error).await,
            Fault::Offsets(error) => {
                self.supervisor
                    .fail(RunError::cluster("cannot commit offsets", &error));
                self.void(tasks);
            }
            Fault::Interrupted => {
                // The verb was dropped: what it did is not known, and the producer cannot be used any more.
                self.renew_producer();
                self.void(tasks);
                self.supervisor.late("a commit was still under way");
            }
        }
    }

    /// Records could not be written. It is not known whose: all that have sent any fall back.
    pub(super) async fn production_fails(&mut self, tasks: &[Tenure], error: &ClusterError) {
        let refused = matches!(
            error.kind,
            ClusterErrorKind::RecordTooLarge | ClusterErrorKind::UnknownTopic
        );
        // With what is known now, the record fails in its handler when the task comes to it again.
        let learned = refused && self.learn_again(tasks).await;
        self.renew_producer();
        if !learned && !error.kind.is_transient() {
            let sent = self.sent();
            let what = format!(
                "cannot write what {} sent",
                self.senders(sent.iter().chain(tasks))
            );
            self.supervisor.fail(RunError::cluster(what, error));
            self.void(&sent);
            self.void(tasks);
            return;
        }
        for (tenure, seat) in &mut self.seats {
            if seat.fate != Fate::Void && (seat.sent || tasks.contains(tenure)) {
                tracing::warn!(task = %tenure.task, %error, "records were not written; the task goes back to its last commit");
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
    }

    /// Which tasks these are, for a person.
    fn senders<'t>(&self, tasks: impl Iterator<Item = &'t Tenure>) -> String {
        let topology = &self.plan.topology;
        let tasks: BTreeSet<TaskId> = tasks.map(|tenure| tenure.task).collect();
        let one = |task: &TaskId| {
            let processors = topology.groups[task.group].processors.iter();
            let names = processors.map(|processor| format!("`{}`", topology.processors[*processor].name));
            format!("task {task} ({})", names.collect::<Vec<_>>().join(", "))
        };
        tasks.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn renew_producer(&mut self) {
        self.max_batch = self.plan.topology.bindings.limits().smallest();
        match new_producer(&*self.cluster, self.max_batch) {
            Ok(producer) => self.producer = producer,
            Err(error) => self.supervisor.fail(error),
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
            // A restorer that has ended is one that stops: there is no other time.
            if let Err(refused) = self.restorer.send(open)
                && let RestorerOrder::Open { slot, .. } = refused.0
            {
                self.board.gone(slot.tenure);
                slot.close();
            }
        }
    }
}
