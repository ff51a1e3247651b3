//! The instance's member of the group: checks the topics, joins, and turns the group's events into tasks.
//!
//! It waits for events at all times, for that keeps the membership alive; whatever takes time is done by
//! others. It is the first part to begin and the last to end.

use std::{sync::Arc, time::Duration};

use tokio::sync::{
    Notify,
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::{
    check,
    drain::{self, Request},
    error::RunError,
    gather::Tasks,
    identity::Identity,
    order::{RestorerOrder, WorkerHandle, WorkerOrder},
    origin::Asker,
    passages,
    plan::{Plan, Share},
    restore::Restore,
    restorer::Restorer,
    slot::{Tenure, Token},
    spawn::Spawner,
    standing,
    status::Stop,
    supervisor::{Supervisor, sleep_until},
    watch::Watch,
    watchdog::{Stuck, Watchdog},
    worker::{Worker, WorkerSeed},
};
use crate::{
    TaskId,
    clock::BoxFuture,
    cluster::{Cluster, ClusterError, Event, Group, Isolation, JoinRequest, Member, ProducerOptions},
    record::TopicPartition,
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
        let exactly_once = self.plan.settings.transactions.is_some();
        // Lives until the last worker has ended: another process may then use the directory and its transactions.
        let locked = if exactly_once || self.plan.topology.stores().next().is_some() {
            let disk = &self.plan.settings.store;
            Some(Identity::take(&self.plan.directory(), disk, &*clock)?)
        } else {
            None
        };
        let identity = locked.as_ref().filter(|_| exactly_once);
        if let Some(former) = identity.and_then(Identity::copied) {
            tracing::warn!(
                directory = %self.plan.directory().display(),
                %former,
                "the state directory was copied: its file `.instance` is not the one that it was written as. This instance \
                 takes a new name for its transactions, so that it does not end those of the one it was copied from. If that \
                 one has died in the middle of a transaction, the brokers end it after `transaction_timeout`, and not at once"
            );
        }
        let partitions = tokio::select! { biased;
            _ = board.stop.find(|stop| *stop) => return Ok(()),
            checked = check::check(&self.plan, &*self.cluster, &*clock, identity) => checked?,
        };
        let member = self.join(&partitions)?;
        let group = member.group();
        // Dropped by each part when it has ended.
        let (part, mut parts) = unbounded_channel::<std::convert::Infallible>();
        let asker = Arc::new(Asker::new(self.cluster.clone()));
        let (restorer, workers) = self.spawn(&group, identity, &part, &asker)?;
        drop(part);
        self.supervisor.board.running();
        let mut owner = Owner {
            tasks: Tasks::new(&self.plan, &partitions),
            look: Arc::default(),
            plan: self.plan.clone(),
            supervisor: self.supervisor.clone(),
            restorer,
            workers,
            watchdog: Watchdog::new(self.plan.settings.stuck_after),
            stuck: Vec::new(),
            give_up: None,
        };
        let watch = Watch {
            plan: self.plan.clone(),
            asker,
            clock: clock.clone(),
            partitions,
            look: owner.look.clone(),
        };
        let member = owner
            .run(
                member,
                &mut self.requests,
                &mut parts,
                watch,
                &self.cluster,
                &group,
            )
            .await;
        // What a handler does that comes back from now on is neither sent nor committed.
        board.give_up();
        let Some(member) = member else { return Ok(()) };
        clock.comes_to(passages::LEAVING);
        let left = tokio::select! { biased;
            left = member.leave() => left.map_err(|error| error.to_string()),
            () = self.supervisor.deadline() => Err("there was no answer in time".to_owned()),
        };
        let group = &self.plan.topology.app;
        match left {
            Ok(()) => tracing::info!(%group, "left the group"),
            Err(error) => tracing::warn!(
                %group, %error,
                "could not leave the group: others get the partitions when the session has timed out"
            ),
        }
        Ok(())
    }

    /// `partitions`: how many each group has.
    fn join(&self, partitions: &[u32]) -> Result<Box<dyn Member>, RunError> {
        let topology = &self.plan.topology;
        let inputs = topology.groups.iter().map(|group| group.inputs.len());
        let all: usize = inputs
            .zip(partitions)
            .map(|(inputs, partitions)| inputs * *partitions as usize)
            .sum();
        let mut topics: Vec<Arc<str>> = topology.inputs().collect();
        topics.sort();
        topics.dedup();
        let request = JoinRequest {
            group: topology.app.to_string(),
            topics,
            session_timeout: self.plan.settings.session_timeout,
            heartbeat_interval: self.plan.settings.heartbeat_interval,
            revoke_timeout: self.plan.settings.revoke_timeout,
            isolation: Isolation::ReadCommitted,
            read_ahead: Some(Share::read_ahead(self.plan.settings.memory, all)),
            client_id: check::client_id(topology),
        };
        self.cluster
            .join(request)
            .map_err(|error| RunError::cluster(format!("cannot join the group `{}`", topology.app), &error))
    }

    /// What a worker's producer is to be.
    fn producer(&self, identity: Option<&Identity>, worker: usize) -> ProducerOptions {
        let transactions = self.plan.settings.transactions.as_ref();
        ProducerOptions {
            transactional_id: identity
                .map(|identity| identity.transactional_id(&self.plan.topology.app, worker)),
            transaction_timeout: transactions.map(|transactions| transactions.timeout),
            max_batch: self.plan.topology.bindings.limits().smallest(),
            buffer: Some(Share::buffer(
                self.plan.settings.memory,
                self.plan.settings.threads,
            )),
            stale_after: transactions
                .is_none()
                .then(|| standing::stale_after(self.plan.settings.session_timeout)),
        }
    }

    /// Starts restorer and workers.
    fn spawn(
        &self,
        group: &Arc<dyn Group>,
        identity: Option<&Identity>,
        part: &UnboundedSender<std::convert::Infallible>,
        asker: &Arc<Asker>,
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
                producer: self.producer(identity, number),
                asker: asker.clone(),
            };
            let (supervisor, part) = (self.supervisor.clone(), part.clone());
            let name = format!("worker {number}");
            let run = Box::new(move || -> BoxFuture<'static, ()> {
                Box::pin(async move {
                    // Boxed: it is large, and would be moved from wrapping to wrapping.
                    let work = async { Box::pin(Worker::new(seed)?.run()).await };
                    let (board, watched) = (&supervisor.board, supervisor.watch(&name, work));
                    let given_up = || board.is_given_up();
                    board.pulses[number]
                        .of(&*supervisor.clock, given_up, watched)
                        .await;
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
            asker: asker.clone(),
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
    /// Has the topics looked at.
    look: Arc<Notify>,
    watchdog: Watchdog,
    /// The workers that are not waited for any more.
    stuck: Vec<usize>,
    /// When nobody is waited for any more.
    give_up: Option<Duration>,
}

/// Leaving takes a part of a stop's time, but not more than this.
const LONGEST_LEAVE: Duration = Duration::from_secs(1);

impl Owner {
    /// Until all other parts have ended, or the deadline of a stop has passed. Gives the member back, unless it
    /// has failed.
    async fn run(
        &mut self,
        mut member: Box<dyn Member>,
        requests: &mut UnboundedReceiver<Request>,
        parts: &mut UnboundedReceiver<std::convert::Infallible>,
        watch: Watch,
        cluster: &Arc<dyn Cluster>,
        group: &Arc<dyn Group>,
    ) -> Option<Box<dyn Member>> {
        let supervisor = self.supervisor.clone();
        let (clock, board) = (supervisor.clock.clone(), supervisor.board.clone());
        let mut stopping: Option<Stop> = None;
        let mut failed = false;
        let mut commit_at = clock.now() + self.plan.settings.commit_interval;
        let mut look_at = clock.now() + self.watchdog.pause();
        let mut watch = Box::pin(watch.run());
        let mut watching = true;
        // What is done beside all this, and ends by itself.
        let mut beside = futures_util::stream::FuturesUnordered::<BoxFuture<'static, ()>>::new();
        let mut looked_again = false;
        loop {
            tokio::select! { biased;
                asked = board.stop.find(|stop| (*stop != stopping).then_some(*stop)) => {
                    if let Some(asked) = asked {
                        self.stop(asked, stopping.replace(asked).is_none());
                    }
                }
                None = parts.recv() => return (!failed).then_some(member),
                () = board.changes.find(|_| board.has_only(&self.stuck).then_some(())), if !self.stuck.is_empty() => {
                    return (!failed).then_some(member);
                }
                () = sleep_until(&*clock, self.give_up) => {
                    let within = stopping.map_or(Duration::ZERO, |stop| stop.within);
                    board.set_failure(RunError::Deadline {
                        deadline: within,
                        what: board.unfinished(),
                    });
                    return (!failed).then_some(member);
                }
                event = member.next_event(), if !failed => {
                    if matches!(event, Event::Assigned(_)) && !std::mem::replace(&mut looked_again, true) {
                        beside.push(self.look_again(cluster.clone()));
                    }
                    failed = self.happens(event);
                    // Topics that come, go or grow make rebalances.
                    self.look.notify_one();
                }
                request = requests.recv(), if !requests.is_closed() || !requests.is_empty() => match request {
                    Some(Request::Drain(reply)) => beside.push(drain::drained(
                        self.plan.clone(), cluster.clone(), group.clone(), clock.clone(), board.clone(),
                        self.workers.clone(), reply,
                    )),
                    Some(Request::FireTimers(done)) => self.order_all(|| WorkerOrder::FireTimers(done.clone())),
                    Some(Request::Commit) => self.order_all(|| WorkerOrder::Commit),
                    Some(Request::Lend(to)) => self.order_all(|| WorkerOrder::Lend(to.clone())),
                    None => requests.close(),
                },
                Some(()) = futures_util::StreamExt::next(&mut beside), if !beside.is_empty() => {}
                () = clock.sleep_until(commit_at), if stopping.is_none() => {
                    self.order_all(|| WorkerOrder::Commit);
                    commit_at = clock.now() + self.plan.settings.commit_interval;
                }
                error = &mut watch, if watching && stopping.is_none() => {
                    watching = false;
                    supervisor.fail(error);
                }
                () = clock.sleep_until(look_at), if stopping.is_none() => {
                    self.watch();
                    look_at = clock.now() + self.watchdog.pause();
                }
            }
        }
    }

    /// Looks again whether the group has members that are another program.
    fn look_again(&self, cluster: Arc<dyn Cluster>) -> BoxFuture<'static, ()> {
        let (plan, supervisor) = (self.plan.clone(), self.supervisor.clone());
        Box::pin(async move {
            if let Err(error) = check::check_again(&plan, &*cluster, &*supervisor.clock).await {
                supervisor.fail(error);
            }
        })
    }

    /// Gives all workers the same order.
    fn order_all(&self, order: impl Fn() -> WorkerOrder) {
        self.workers.iter().for_each(|worker| worker.send(order()));
    }

    /// Has all parts end, with some time left to leave the group.
    fn stop(&mut self, asked: Stop, first: bool) {
        let deadline = asked
            .deadline
            .saturating_sub((asked.within / 10).min(LONGEST_LEAVE));
        self.give_up_by(deadline);
        if first && self.restorer.send(RestorerOrder::Stop(deadline)).is_err() {
            // It has failed, and passes nothing on any more.
            self.workers
                .iter()
                .for_each(|worker| worker.send(WorkerOrder::Stop(deadline)));
        }
    }

    fn give_up_by(&mut self, deadline: Duration) {
        self.give_up = Some(self.give_up.map_or(deadline, |before| before.min(deadline)));
    }

    /// Stops the instance if a handler does not come back: the others get some time to commit, then the group is
    /// left.
    fn watch(&mut self) {
        let (board, now) = (self.supervisor.board.clone(), self.supervisor.clock.now());
        for stuck in self.watchdog.look(&board.pulses, now) {
            let error = self.describe(&stuck);
            match stuck.task {
                // It only waits, and can be dropped. Nothing of it is committed.
                Some((tenure, _)) if !stuck.blocks => {
                    let _ = self.restorer.send(RestorerOrder::Lost(tenure));
                }
                _ => self.stuck.push(stuck.worker),
            }
            self.give_up_by(now + self.plan.settings.revoke_timeout);
            self.supervisor.fail(error);
        }
    }

    fn describe(&self, stuck: &Stuck) -> RunError {
        let (topology, board) = (&self.plan.topology, &self.supervisor.board);
        let tasks = board.tasks_of(stuck.worker).into_iter();
        let (task, seen) = stuck.task.unzip();
        let record = task.zip(seen.flatten()).and_then(|(task, seen): (Tenure, _)| {
            let (input, offset) = seen.record?;
            let topic = topology.bound(&topology.groups[task.task.group].inputs[input].name);
            Some((TopicPartition::new(topic, task.task.partition), offset))
        });
        RunError::Stuck {
            task: task.map(|task| task.task.to_string()),
            record,
            worker: stuck.worker,
            held_up: tasks
                .filter(|other| stuck.blocks && Some(*other) != task.map(|task| task.task))
                .map(|task| task.to_string())
                .collect(),
            blocks: stuck.blocks,
            busy: Duration::from_millis(stuck.busy.as_millis() as u64),
        }
    }

    /// Passes on what happened. Whether the membership is over.
    fn happens(&mut self, event: Event) -> bool {
        match event {
            Event::Assigned(assignments) => match self.tasks.assigned(assignments) {
                Ok(slots) => {
                    let tasks = slots.iter().map(|slot| slot.tenure.task);
                    tracing::info!(tasks = listed(tasks), "assigned");
                    self.supervisor.clock.comes_to(passages::ASSIGNED);
                    for slot in slots {
                        let (slot, not_before) = (Box::new(slot), Duration::ZERO);
                        let _ = self.restorer.send(RestorerOrder::Open { slot, not_before });
                    }
                }
                Err(error) => self.supervisor.fail(error),
            },
            Event::Revoked(partitions, token) => {
                self.supervisor.clock.happens(passages::WANTED_BACK);
                let tenures = self.tasks.taken(&partitions);
                #[cfg(test)]
                let token = self.witnessed(token, tenures.clone());
                let token = Token::new(token);
                let tasks = tenures.iter().map(|tenure| tenure.task);
                tracing::info!(tasks = listed(tasks), "wanted back");
                for tenure in tenures {
                    self.supervisor.board.ends(tenure, token.deadline);
                    let order = RestorerOrder::Revoke(tenure, token.clone());
                    if self.restorer.send(order).is_err() {
                        // It has ended, and the workers do: what they have is released when they have committed it.
                        self.order_all(|| WorkerOrder::Revoke(tenure, token.clone()));
                    }
                }
            }
            Event::Lost(partitions) => {
                self.supervisor.clock.happens(passages::LOST);
                for tenure in self.tasks.taken(&partitions) {
                    tracing::warn!(task = %tenure.task, "lost: somebody else may be processing it already");
                    self.supervisor.board.ends(tenure, Duration::ZERO);
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

    /// Simulated trials judge at which moment it is released.
    #[cfg(test)]
    fn witnessed(
        &self,
        token: crate::cluster::RevokeToken,
        tenures: Vec<Tenure>,
    ) -> crate::cluster::RevokeToken {
        let board = self.supervisor.board.clone();
        crate::cluster::RevokeToken::new(token.deadline, move || {
            board.released(&tenures);
            drop(token);
        })
    }

    fn membership_fails(&mut self, error: &ClusterError) {
        for tenure in self.tasks.all() {
            // A worker that waits for the cluster hears of it only when that has answered, and must not write any more.
            self.supervisor.board.ends(tenure, Duration::ZERO);
            let _ = self.restorer.send(RestorerOrder::Lost(tenure));
        }
        self.supervisor.fail(RunError::cluster(
            format!("the membership of group `{}` has failed", self.plan.topology.app),
            error,
        ));
    }
}

/// Tasks for a line of the log: a few, and how many more.
fn listed(tasks: impl ExactSizeIterator<Item = TaskId>) -> String {
    const SOME: usize = 16;
    let all = tasks.len();
    let mut names: Vec<String> = tasks.take(SOME).map(|task| task.to_string()).collect();
    if all > SOME {
        names.push(format!("{} more", all - SOME));
    }
    names.join(", ")
}
