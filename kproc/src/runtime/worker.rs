//! Processes tasks: takes what their queues have, lets them run, and looks after them when they come to rest.
//!
//! A task moves into the future of its activation and comes back at rest, so the worker borrows nothing while
//! its handlers wait. Queues and environments stay in the worker's seat: dropping a waiting handler loses the
//! task and nothing else.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures_util::future::{AbortHandle, Abortable};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::{
    away::Away,
    error::RunError,
    fall_back::Fault,
    intake::Unreadable,
    lend::lend,
    order::{RestorerOrder, Rests, WorkerOrder},
    origin::Asker,
    outlet::Outlet,
    passages,
    plan::Plan,
    ready::Ready,
    sabotage::Sabotage,
    seat::{Activity, Fate, Rested, Seat, Uncommitted},
    slot::{Tenure, Token},
    standing::Standing,
    status::Board,
    supervisor::{Supervisor, sleep_until},
};
use crate::{
    clock::Clock,
    cluster::{Cluster, Group, ProducerOptions},
    engine::{Failure, Next, Pause},
    topology::Topology,
};

/// What a worker needs to begin.
pub(super) struct WorkerSeed {
    pub(super) number: usize,
    pub(super) plan: Arc<Plan>,
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) group: Arc<dyn Group>,
    pub(super) supervisor: Supervisor,
    pub(super) orders: UnboundedReceiver<WorkerOrder>,
    pub(super) rests: Rests,
    pub(super) restorer: UnboundedSender<RestorerOrder>,
    pub(super) producer: ProducerOptions,
    pub(super) asker: Arc<Asker>,
}

/// See the module.
pub(super) struct Worker {
    pub(super) number: usize,
    pub(super) plan: Arc<Plan>,
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) asker: Arc<Asker>,
    pub(super) group: Arc<dyn Group>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) board: Arc<Board>,
    pub(super) supervisor: Supervisor,
    pub(super) orders: UnboundedReceiver<WorkerOrder>,
    /// Taken from `orders`, and not yet obeyed.
    backlog: VecDeque<WorkerOrder>,
    pub(super) rests: Rests,
    pub(super) restorer: UnboundedSender<RestorerOrder>,
    pub(super) outlet: Outlet,
    pub(super) standing: Standing,
    // Tasks before their seats: a task must be dropped before its environments are.
    pub(super) away: Away,
    pub(super) seats: BTreeMap<Tenure, Seat>,
    pub(super) ready: Arc<Ready>,
    /// Inputs that cannot be read any more, not yet told.
    pub(super) unreadable: Vec<Unreadable>,
}

/// Whether a worker goes on.
enum Flow {
    Continue,
    End,
}

impl Worker {
    pub(super) fn new(seed: WorkerSeed) -> Result<Self, RunError> {
        let WorkerSeed {
            number,
            plan,
            cluster,
            group,
            supervisor,
            orders,
            rests,
            restorer,
            producer,
            asker,
        } = seed;
        let outlet = Outlet::new(cluster.clone(), supervisor.clock.clone(), producer)?;
        let away = Away::new(supervisor.clone());
        Ok(Self {
            number,
            plan,
            cluster,
            asker,
            group,
            clock: supervisor.clock.clone(),
            board: supervisor.board.clone(),
            supervisor,
            orders,
            backlog: VecDeque::new(),
            rests,
            restorer,
            outlet,
            standing: Standing::default(),
            seats: BTreeMap::new(),
            away,
            ready: Arc::default(),
            unreadable: Vec::new(),
        })
    }

    /// Works until it is told to stop, or until nobody is left to tell it.
    pub(super) async fn run(mut self) -> Result<(), RunError> {
        self.settle().await;
        while !self.board.is_given_up() {
            for rested in self.away.take_rested() {
                self.comes_to_rest(rested).await;
            }
            self.tell_unreadable().await;
            while let Some(order) = self.backlog.pop_front() {
                if let Flow::End = self.obey(order).await {
                    return Ok(());
                }
            }
            self.settle().await;
            // After the orders: one of them may be to commit.
            self.commit_due().await;
            self.fall_back_due();
            if self.away.has_rested() || !self.backlog.is_empty() {
                // They came while a verb was waited for.
                continue;
            }
            let idle = self.away.is_empty() && self.ready.is_empty() && self.orders.is_empty();
            self.board.set_idle(self.number, idle);
            let wake_at = self.wake_at();
            tokio::select! { biased;
                order = self.orders.recv() => match order {
                    Some(order) => self.backlog.push_back(order),
                    None => return Ok(()),
                },
                () = self.away.rest() => {}
                tasks = self.ready.wait() => self.look(&tasks),
                () = sleep_until(&*self.clock, wake_at) => self.wake(),
            }
        }
        Ok(())
    }

    /// Settles what an earlier producer of the id left open, be it of another process or of this worker, before tasks go
    /// on: restores wait for that. What cannot wait comes first.
    async fn settle(&mut self) {
        if !self.outlet.is_to_settle() {
            return;
        }
        self.board.set_idle(self.number, false);
        let _passage = self.clock.passage(passages::SETTLEMENT);
        let mut settled = pin!(self.away.beside(self.outlet.settle(), None));
        loop {
            tokio::select! { biased;
                order = self.orders.recv() => match order {
                    Some(WorkerOrder::Commit) if matches!(self.backlog.back(), Some(WorkerOrder::Commit)) => {}
                    Some(order) => {
                        let urgent = order.is_urgent();
                        self.backlog.push_back(order);
                        if urgent {
                            return;
                        }
                    }
                    None => return,
                },
                settled = &mut settled => {
                    if let Some(Err(error)) = settled {
                        self.supervisor.fail(RunError::cluster("cannot begin transactions", &error));
                    }
                    return;
                }
            }
        }
    }

    async fn obey(&mut self, order: WorkerOrder) -> Flow {
        self.board.set_idle(self.number, false);
        match order {
            WorkerOrder::Take(slot) => self.take(*slot),
            WorkerOrder::Revoke(tenure, token) => {
                let revoked = self.all_revoked(tenure, token);
                self.revoke(revoked).await;
            }
            WorkerOrder::Lost(tenure) => self.lost(tenure).await,
            WorkerOrder::Commit => {
                for seat in self.seats.values_mut() {
                    if seat.uncommitted == Uncommitted::Something || !seat.at_rest() {
                        seat.uncommitted = Uncommitted::Due;
                    }
                }
                self.vouch().await;
            }
            WorkerOrder::FireTimers(done) => {
                for seat in self.seats.values_mut() {
                    seat.fire_due = Some(done.clone());
                }
                let tasks: Vec<Tenure> = self.seats.keys().copied().collect();
                for tenure in tasks {
                    self.fire(tenure);
                }
            }
            WorkerOrder::Lend(to) => {
                for seat in self.seats.values_mut() {
                    seat.lend_due = Some(to.clone());
                }
                let tasks: Vec<Tenure> = self.seats.keys().copied().collect();
                for tenure in tasks {
                    self.lend(tenure);
                }
            }
            WorkerOrder::Stop(deadline) => {
                let _passage = self.clock.passage(passages::STOP);
                let tasks: Vec<Tenure> = self.seats.keys().copied().collect();
                self.close(tasks, deadline).await;
                if self.outlet.owes() {
                    // Others would have to wait for a time-out.
                    self.away.beside(self.outlet.settle(), Some(deadline)).await;
                }
                return Flow::End;
            }
        }
        Flow::Continue
    }

    /// What is wanted back together is committed together.
    fn all_revoked(&mut self, tenure: Tenure, token: Token) -> Vec<(Tenure, Token)> {
        let mut revoked = vec![(tenure, token)];
        loop {
            match self.backlog.pop_front().or_else(|| self.orders.try_recv().ok()) {
                Some(WorkerOrder::Revoke(tenure, token)) => revoked.push((tenure, token)),
                Some(other) => {
                    self.backlog.push_front(other);
                    return revoked;
                }
                None => return revoked,
            }
        }
    }

    /// Sends a task away to do something; it comes back at rest.
    pub(super) fn activate(&mut self, tenure: Tenure, activity: Activity) {
        let budget = self.share().task;
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        let Some(mut task) = seat.slot.task.take() else {
            return;
        };
        task.outbox().refresh();
        seat.unfinished = false;
        seat.wake_at = None;
        let started = seat.started || matches!(activity, Activity::Start);
        let (rest, clock) = (seat.rest.clone(), self.clock.clone());
        let (abort, registration) = AbortHandle::new_pair();
        seat.activation = Some(abort);
        let (board, number) = (self.board.clone(), self.number);
        let away = async move {
            // Whoever borrows a task keeps it for as long as they like.
            let watched = !matches!(activity, Activity::Lend(_));
            task.progress().at_work(watched);
            let result = match activity {
                Activity::Start => task.start(&*clock).await.map(|()| Pause::Asked),
                Activity::Run => task.run(&rest, budget, &*clock).await,
                Activity::Lend(to) => {
                    task = lend(tenure.task.partition, task, &to).await;
                    Ok(Pause::Asked)
                }
                Activity::Stop => task.stop(&*clock).await.map(|()| Pause::Asked),
            };
            task.progress().at_work(false);
            (task, result)
        };
        let away = async move { board.pulses[number].inside(tenure, away).await };
        self.away.send(Box::pin(async move {
            match Abortable::new(away, registration).await {
                Ok((task, result)) => Rested {
                    tenure,
                    task: Some(task),
                    result,
                    started,
                },
                Err(_) => Rested {
                    tenure,
                    task: None,
                    result: Ok(Pause::Starved),
                    started,
                },
            }
        }));
    }

    /// A task is back: what it sent goes to the producer.
    pub(super) async fn comes_to_rest(&mut self, rested: Rested) {
        let Rested {
            tenure,
            task,
            result,
            started,
        } = rested;
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        seat.activation = None;
        seat.slot.task = task;
        let Some(task) = seat.slot.task.as_mut() else {
            return;
        };
        seat.uncommitted = seat.uncommitted.max(Uncommitted::Something);
        seat.started = started;
        if self.board.is_over(tenure, self.clock.now()) {
            // It has taken too long: somebody else may have its partition.
            seat.fate = Fate::Void;
            return;
        }
        if let Some((processor, store)) = task.replaced_store() {
            seat.fate = Fate::Void;
            self.supervisor
                .fail(replaced(&self.plan.topology, tenure, processor, store));
            return;
        }
        match result {
            Ok(pause) => {
                if matches!(pause, Pause::Commit | Pause::Full) || task.commit_requested() {
                    seat.uncommitted = Uncommitted::Due;
                }
                seat.unfinished = pause != Pause::Starved;
                if task.owes_firings() {
                    self.clock.comes_to(passages::OWING);
                } else if pause == Pause::Starved {
                    seat.firing = None;
                }
                seat.wake_at = task.wake_at();
            }
            Err(failure) => self.fails(tenure, &failure),
        }
        self.produce(tenure).await;
        self.ready.add(tenure);
        self.fire(tenure);
        self.lend(tenure);
    }

    /// Lends a resting task, if that was asked for.
    fn lend(&mut self, tenure: Tenure) {
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        if seat.started
            && seat.at_rest()
            && seat.fate == Fate::GoesOn
            && let Some(to) = seat.lend_due.take()
        {
            self.activate(tenure, Activity::Lend(to));
        }
    }

    /// A handler has failed, and its policy has the last word.
    fn fails(&mut self, tenure: Tenure, failure: &Failure) {
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        match failure.next {
            Next::Stop => {
                // Was something of it not written meanwhile, then nothing that came after may be committed.
                seat.fate = match seat.fate {
                    Fate::FallsBack | Fate::Void => Fate::Void,
                    _ => Fate::Failed,
                };
                self.supervisor.fail(RunError::Task(failure.into()));
            }
            Next::FallBack => {
                tracing::warn!(task = %tenure.task, %failure, "the task's processors are made anew");
                // It goes back further, if something of it was not written meanwhile.
                if matches!(seat.fate, Fate::FallsBack | Fate::Void) {
                    return;
                }
                // What was done before is committed: done again, it might come to the same failure, for ever.
                seat.fate = Fate::BuiltAnew;
                seat.uncommitted = Uncommitted::Due;
            }
        }
    }

    /// Hands what a resting task has sent to the producer.
    async fn produce(&mut self, tenure: Tenure) {
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        let Some(task) = seat.slot.task.as_mut() else {
            return;
        };
        // In a transaction, it goes when the task commits: see the module of commits.
        let in_transactions = self.outlet.is_transactional() && !self.plan.has(Sabotage::SentBeforeCommit);
        let kept = matches!(seat.fate, Fate::FallsBack | Fate::Void) || in_transactions;
        if kept || task.outbox().is_empty() {
            return;
        }
        self.give_up_if_damaged(tenure);
        match self.may_produce(tenure).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(fault) => return self.commit_fails(&[tenure], fault, None).await,
        }
        if let Err(fault) = self.confirm(&[tenure], None).await {
            return self.commit_fails(&[tenure], fault, None).await;
        }
        let Some(seat) = self.seats.get_mut(&tenure).filter(|seat| seat.fate != Fate::Void) else {
            return;
        };
        let Some(task) = seat.slot.task.as_mut() else {
            return;
        };
        seat.sent = true;
        let sent = self.away.beside(self.outlet.send(task.outbox()), None).await;
        let fault = match sent {
            Some(Ok(())) => return,
            Some(Err(error)) => Fault::Production(error),
            None => Fault::Interrupted,
        };
        self.commit_fails(&[tenure], fault, None).await;
    }

    /// Has the wall-clock timers of a resting task fired at its next run, if that was asked for.
    fn fire(&mut self, tenure: Tenure) {
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        let Some(task) = seat.slot.task.as_mut() else {
            return;
        };
        if seat.started
            && let Some(done) = seat.fire_due.take()
            && seat.fate == Fate::GoesOn
        {
            task.fire_wall_timers();
            seat.firing = Some(done);
            seat.unfinished = true;
            self.ready.add(tenure);
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.seats
            .values()
            .filter(|seat| seat.fate == Fate::GoesOn && seat.at_rest())
            .filter_map(|seat| seat.wake_at)
            .min()
    }

    /// Looks at the tasks whose time has come.
    fn wake(&mut self) {
        let now = self.clock.now();
        for (tenure, seat) in &mut self.seats {
            if seat.wake_at.is_some_and(|due| due <= now) {
                seat.wake_at = None;
                self.ready.add(*tenure);
            }
        }
    }
}

#[cold]
fn replaced(topology: &Topology, tenure: Tenure, processor: usize, store: usize) -> RunError {
    let processor = &topology.processors[processor];
    RunError::State {
        task: tenure.task.to_string(),
        processor: processor.name.to_string(),
        reason: format!(
            "the program has put another store in the place of `{}`; what it wrote since the last commit is lost, so \
             nothing of it is committed. To empty a store, use `retain(|_, _| false)`",
            processor.stores[store].0.name
        ),
    }
}
