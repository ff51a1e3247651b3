//! The instance's member of the group: checks the topics, joins, and turns the group's events into tasks.
//!
//! It waits for events at all times, for that keeps the membership alive; whatever takes time is done by
//! others. It is the first part to begin and the last to end.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    check::check,
    drain::{self, Request},
    error::RunError,
    gather::Tasks,
    order::{RestorerOrder, WorkerHandle, WorkerOrder},
    plan::Plan,
    restore::Restore,
    restorer::Restorer,
    slot::Token,
    spawn::Spawner,
    status::Stop,
    supervisor::{Supervisor, sleep_until},
    worker::{Worker, WorkerSeed},
};
use crate::{
    TaskId,
    clock::BoxFuture,
    cluster::{Cluster, ClusterError, Event, Group, Isolation, JoinRequest, Member},
};

/// What an owner needs to begin.
pub(super) struct OwnerSeed {
    pub(super) plan: Arc<Plan>,
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) supervisor: Supervisor,
    pub(super) spawner: Arc<dyn Spawner>,
    pub(super) requests: UnboundedReceiver<Request>,
}

impl OwnerSeed {
    /// Runs the instance from its check to its end.
    pub(super) async fn run(self) {
        let supervisor = self.supervisor.clone();
        supervisor.watch("the group's member", self.check_and_own()).await;
        supervisor.board.end();
    }

    async fn check_and_own(mut self) -> Result<(), RunError> {
        let clock = self.supervisor.clock.clone();
        let board = self.supervisor.board.clone();
        let partitions = tokio::select! { biased;
            _ = board.stop.find(|stop| *stop) => return Ok(()),
            checked = check(&self.plan, &*self.cluster, &*clock) => checked?,
        };
        let member = self.join()?;
        let group = member.group();
        // Dropped by each part when it has ended.
        let (part, mut parts) = unbounded_channel::<std::convert::Infallible>();
        let (restorer, workers) = self.spawn(&group, &part)?;
        drop(part);
        self.supervisor.board.running();
        let mut owner = Owner {
            tasks: Tasks::new(&self.plan, partitions),
            plan: self.plan.clone(),
            supervisor: self.supervisor.clone(),
            restorer,
            workers,
        };
        let member = owner
            .run(member, &mut self.requests, &mut parts, &self.cluster, &group)
            .await;
        let Some(member) = member else { return Ok(()) };
        let left = tokio::select! { biased;
            left = member.leave() => left,
            () = self.supervisor.overdue() => return Ok(()),
        };
        if let Err(error) = left {
            // The others get the partitions when the session times out.
            tracing::warn!(%error, "could not leave the group");
        }
        Ok(())
    }

    fn join(&self) -> Result<Box<dyn Member>, RunError> {
        let topology = &self.plan.topology;
        let mut topics: Vec<Arc<str>> = topology
            .groups
            .iter()
            .flat_map(|group| group.inputs.iter().map(|input| topology.bound(&input.name)))
            .collect();
        topics.sort();
        topics.dedup();
        let request = JoinRequest {
            group: topology.app.to_string(),
            topics,
            session_timeout: self.plan.settings.session_timeout,
            heartbeat_interval: self.plan.settings.heartbeat_interval,
            revoke_timeout: self.plan.settings.revoke_timeout,
            isolation: Isolation::ReadCommitted,
            client_id: topology.app.to_string(),
        };
        self.cluster
            .join(request)
            .map_err(|error| RunError::cluster(format!("cannot join the group `{}`", topology.app), &error))
    }

    /// Starts restorer and workers.
    fn spawn(
        &self,
        group: &Arc<dyn Group>,
        part: &UnboundedSender<std::convert::Infallible>,
    ) -> Result<(UnboundedSender<RestorerOrder>, Vec<WorkerHandle>), RunError> {
        let (restorer, orders) = unbounded_channel();
        let thread = |error: std::io::Error| RunError::Thread(error.to_string());
        let mut workers = Vec::new();
        for number in 0..self.plan.settings.threads.max(1) {
            let rests = self.supervisor.board.rests[number].clone();
            let (handle, orders) = WorkerHandle::new(rests.clone());
            let seed = WorkerSeed {
                number,
                plan: self.plan.clone(),
                cluster: self.cluster.clone(),
                group: group.clone(),
                supervisor: self.supervisor.clone(),
                orders,
                rests,
                restorer: restorer.clone(),
            };
            let (supervisor, part) = (self.supervisor.clone(), part.clone());
            let name = format!("worker {number}");
            let run = Box::new(move || -> BoxFuture<'static, ()> {
                Box::pin(async move {
                    // Boxed: it is large, and would be moved from wrapping to wrapping.
                    let work = async { Box::pin(Worker::new(seed)?.run()).await };
                    let pulse = &supervisor.board.pulses[number];
                    pulse.of(&*supervisor.clock, supervisor.watch(&name, work)).await;
                    supervisor.board.set_idle(number, true);
                    drop(part);
                })
            });
            self.spawner
                .spawn(format!("kproc-worker-{number}"), run)
                .map_err(thread)?;
            workers.push(handle);
        }
        let restore = Restore {
            plan: self.plan.clone(),
            cluster: self.cluster.clone(),
            group: group.clone(),
            clock: self.supervisor.clock.clone(),
            board: self.supervisor.board.clone(),
        };
        let (supervisor, part, handles) = (self.supervisor.clone(), part.clone(), workers.clone());
        let run = Box::new(move || -> BoxFuture<'static, ()> {
            Box::pin(async move {
                let restorer = Restorer::new(restore, orders, handles, supervisor.clone());
                supervisor.watch("the restorer", restorer.run()).await;
                drop(part);
            })
        });
        self.spawner
            .spawn("kproc-restorer".to_owned(), run)
            .map_err(thread)?;
        Ok((restorer, workers))
    }
}

struct Owner {
    plan: Arc<Plan>,
    supervisor: Supervisor,
    restorer: UnboundedSender<RestorerOrder>,
    workers: Vec<WorkerHandle>,
    tasks: Tasks,
}

impl Owner {
    /// Until all other parts have ended, or the deadline of a stop has passed. Gives the member back, unless it
    /// has failed.
    async fn run(
        &mut self,
        mut member: Box<dyn Member>,
        requests: &mut UnboundedReceiver<Request>,
        parts: &mut UnboundedReceiver<std::convert::Infallible>,
        cluster: &Arc<dyn Cluster>,
        group: &Arc<dyn Group>,
    ) -> Option<Box<dyn Member>> {
        let supervisor = self.supervisor.clone();
        let (clock, board) = (supervisor.clock.clone(), supervisor.board.clone());
        let mut stopping: Option<Stop> = None;
        let mut failed = false;
        let mut commit_at = clock.now() + self.plan.settings.commit_interval;
        let mut draining = futures_util::stream::FuturesUnordered::<BoxFuture<'static, ()>>::new();
        loop {
            tokio::select! { biased;
                asked = board.stop.find(|stop| (*stop != stopping).then_some(*stop)) => {
                    if let Some(asked) = asked && stopping.replace(asked).is_none() {
                        self.stop(asked.deadline);
                    }
                }
                None = parts.recv() => return (!failed).then_some(member),
                () = sleep_until(&*clock, stopping.map(|stop| stop.deadline)) => {
                    let within = stopping.map_or(Duration::ZERO, |stop| stop.within);
                    board.set_failure(RunError::Deadline {
                        deadline: within,
                        what: format!("{} tasks were still being put away", board.tasks()),
                    });
                    return (!failed).then_some(member);
                }
                event = member.next_event(), if !failed => failed = self.happens(event),
                request = requests.recv(), if !requests.is_closed() || !requests.is_empty() => match request {
                    Some(Request::Drain(reply)) => draining.push(drain::drained(
                        self.plan.clone(), cluster.clone(), group.clone(), clock.clone(), board.clone(),
                        self.workers.clone(), reply,
                    )),
                    Some(Request::FireTimers(done)) => self.order_all(|| WorkerOrder::FireTimers(done.clone())),
                    Some(Request::Commit) => self.order_all(|| WorkerOrder::Commit),
                    Some(Request::Lend(to)) => self.order_all(|| WorkerOrder::Lend(to.clone())),
                    None => requests.close(),
                },
                Some(()) = futures_util::StreamExt::next(&mut draining), if !draining.is_empty() => {}
                () = clock.sleep_until(commit_at), if stopping.is_none() => {
                    self.take_pulses();
                    self.order_all(|| WorkerOrder::Commit);
                    commit_at = clock.now() + self.plan.settings.commit_interval;
                }
            }
        }
    }

    /// Gives all workers the same order.
    fn order_all(&self, order: impl Fn() -> WorkerOrder) {
        self.workers.iter().for_each(|worker| worker.send(order()));
    }

    fn stop(&self, deadline: Duration) {
        if self.restorer.send(RestorerOrder::Stop(deadline)).is_err() {
            // It has failed, and passes nothing on any more.
            self.workers
                .iter()
                .for_each(|worker| worker.send(WorkerOrder::Stop(deadline)));
        }
    }

    /// Stops the instance if a worker does not come back.
    fn take_pulses(&self) {
        let (board, now) = (&self.supervisor.board, self.supervisor.clock.now());
        for (worker, pulse) in board.pulses.iter().enumerate() {
            let busy = pulse.busy_for(now);
            if busy >= self.plan.settings.stuck_after {
                let tasks: Vec<String> = board.tasks_of(worker).iter().map(TaskId::to_string).collect();
                let busy = Duration::from_millis(busy.as_millis() as u64);
                self.supervisor.fail(RunError::Stuck {
                    worker,
                    tasks: tasks.join(", "),
                    busy,
                });
            }
        }
    }

    /// Passes on what happened. Whether the membership is over.
    fn happens(&mut self, event: Event) -> bool {
        match event {
            Event::Assigned(assignments) => match self.tasks.assigned(assignments) {
                Ok(slots) => {
                    for slot in slots {
                        let (slot, not_before) = (Box::new(slot), Duration::ZERO);
                        let _ = self.restorer.send(RestorerOrder::Open { slot, not_before });
                    }
                }
                Err(error) => self.supervisor.fail(error),
            },
            Event::Revoked(partitions, token) => {
                let token = Token::new(token);
                for tenure in self.tasks.taken(&partitions) {
                    // A restorer that has ended has let everything go already.
                    let _ = self.restorer.send(RestorerOrder::Revoke(tenure, token.clone()));
                }
            }
            Event::Lost(partitions) => {
                for tenure in self.tasks.taken(&partitions) {
                    tracing::warn!(task = %tenure.task, "lost: somebody else may be processing it already");
                    let _ = self.restorer.send(RestorerOrder::Lost(tenure));
                }
            }
            Event::Failed(error) => {
                self.membership_fails(&error);
                return true;
            }
        }
        false
    }

    fn membership_fails(&mut self, error: &ClusterError) {
        for tenure in self.tasks.all() {
            let _ = self.restorer.send(RestorerOrder::Lost(tenure));
        }
        self.supervisor.fail(RunError::cluster(
            format!("the membership of group `{}` has failed", self.plan.topology.app),
            error,
        ));
    }
}
