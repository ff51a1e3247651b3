//! The thread that polls a consumer, and what it does when partitions come and go.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::{
    super::{
        Shared,
        config::Protocol,
        connect::connect,
        error::{failed, forbidden, kind_of},
        native::{
            Client, Code, Event as NativeEvent, EventKind, Kind, NativeError, PartitionList, Queue,
            RebalanceKind,
        },
        statistics, verdicts,
    },
    lock,
    lookout::Lookout,
    membership::{End, Membership, Numbered, next_ownership},
    queue::KafkaQueue,
    seeks::Seeks,
    session,
};
use crate::cluster::{
    Assignment, ClusterError, ClusterErrorKind, Event, JoinRequest, Operation, Resource, Result, RevokeToken,
};

/// How long a poll waits. What cannot interrupt it waits for it.
const POLL: i32 = 100;

/// How often a held revocation is looked after.
const LOOK: Duration = Duration::from_millis(50);

/// How long a connection is waited for before the group is joined.
const CONNECT: Duration = Duration::from_secs(1);

/// How long leaving may take. Who does not leave is taken for dead when its session has timed out.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);

/// After which part of it a broker is looked for that could be told of it.
const LEAVE_LOOK: Duration = Duration::from_millis(200);

/// How long one is looked for.
const LOOK_TIMEOUT: i32 = 100;

/// What the member asks of its thread.
pub(super) struct Control {
    queue: Mutex<Arc<Queue>>,
    leave: Mutex<Leave>,
    /// The thread has something to look at: a rebalance is not held up any longer.
    over: AtomicBool,
    /// Nobody is there any more.
    abandoned: AtomicBool,
}

/// Whether the member leaves.
enum Leave {
    No,
    /// It wants to, and waits for the answer.
    Wanted(oneshot::Sender<Result<()>>),
    /// The thread has ended, and answers no more.
    Over,
}

impl Control {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self {
            queue: Mutex::new(queue),
            leave: Mutex::new(Leave::No),
            over: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Leave, and say so.
    pub(super) fn leave(&self, reply: oneshot::Sender<Result<()>>) {
        let mut leave = lock(&self.leave);
        if matches!(*leave, Leave::No) {
            *leave = Leave::Wanted(reply);
        }
        drop(leave);
        self.end();
    }

    /// Who wants to leave, if the member does.
    fn leaving(&self) -> Option<oneshot::Sender<Result<()>>> {
        let mut leave = lock(&self.leave);
        match std::mem::replace(&mut *leave, Leave::No) {
            Leave::Wanted(reply) => Some(reply),
            other => {
                *leave = other;
                None
            }
        }
    }

    /// End without a word.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
        self.end();
    }

    fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        lock(&self.queue).interrupt();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

/// What the thread has.
pub(super) struct Poller {
    pub(super) shared: Arc<Shared>,
    pub(super) request: JoinRequest,
    pub(super) membership: Arc<Membership>,
    pub(super) control: Arc<Control>,
    pub(super) events: UnboundedSender<Event>,
    pub(super) seeks: Arc<Seeks>,
    pub(super) lookout: Arc<Lookout>,
    pub(super) queue: Arc<Queue>,
    pub(super) protocol: Protocol,
    /// The brokers have taken part in the protocol.
    pub(super) assigned: bool,
}

/// However the thread ends: who wants to leave does not wait for it.
impl Drop for Poller {
    fn drop(&mut self) {
        *lock(&self.control.leave) = Leave::Over;
    }
}

/// The membership has failed for good.
struct Failed(ClusterError);

type Step = std::result::Result<(), Failed>;

impl Poller {
    /// Polls until the member leaves, is dropped, or fails.
    pub(super) fn run(mut self) {
        let outcome = self.join().and_then(|()| self.poll());
        self.membership.remove_all();
        if let Err(Failed(error)) = outcome {
            // Nobody may be listening any more.
            let _ = self.events.send(Event::Failed(error));
        }
    }

    fn client(&self) -> &Arc<Client> {
        self.queue.client()
    }

    fn join(&self) -> Step {
        let clock = &*self.shared.config.clock;
        // Failing is no harm: brokers that are away are waited for, and what they refuse comes as an event.
        let _ = connect(self.client(), clock, CONNECT, || !self.control.is_over());
        if self.protocol == Protocol::Consumer {
            session::set(self.client(), &self.request);
        }
        let topics = self.request.topics.iter().map(|topic| &**topic);
        let subscribed = self.client().subscribe(topics).map_err(Failed)?;
        subscribed.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &NativeError) -> Failed {
        let what = format_args!("membership of group `{}`", self.request.group);
        let principal = self.shared.config.principal();
        let group = Resource::Group(self.request.group.as_str().into());
        Failed(forbidden(
            verdicts::Step::Other,
            what,
            error,
            principal.as_deref(),
            &group,
            Operation::Read,
        ))
    }

    fn poll(&mut self) -> Step {
        loop {
            if self.control.abandoned.load(Ordering::SeqCst) {
                return Ok(());
            }
            if let Some(reply) = self.control.leaving() {
                let _ = reply.send(self.leave());
                return Ok(());
            }
            self.lookout.wake();
            if let Some(event) = self.queue.poll(POLL) {
                self.serve(&event)?;
            }
        }
    }

    fn serve(&mut self, event: &NativeEvent) -> Step {
        match event.kind() {
            EventKind::Rebalance => {
                let seeks = self.seeks.clone();
                seeks.rebalance(|| match event.rebalance() {
                    Some(RebalanceKind::Assign) => self.assign(event.partitions()),
                    Some(RebalanceKind::Revoke) => self.revoke(&event.partitions()),
                    None => Ok(()),
                })
            }
            EventKind::Error => match event.error() {
                Some(error) => self.trouble(&error),
                None => Ok(()),
            },
            EventKind::Statistics => {
                statistics::tell(&event.statistics());
                Ok(())
            }
            EventKind::Deliveries | EventKind::Other => Ok(()),
        }
    }

    /// Partitions are given to us. They are assigned paused, at a place that does not matter: a
    /// queue's `seek` says where to begin.
    fn assign(&mut self, mut list: PartitionList) -> Step {
        self.assigned = true;
        let client = self.client().clone();
        let mut assignments = Vec::new();
        let mut owned = Vec::new();
        for entry in list.entries() {
            let place = entry.partition;
            // Before anything is fetched, so that no record takes another way.
            let queue = Queue::of_partition(&client, &place).map_err(Failed)?;
            let (ownership, end) = (next_ownership(), Arc::<End>::default());
            owned.push((place.clone(), ownership, end.clone()));
            let queue = KafkaQueue::new(
                place.clone(),
                queue,
                self.seeks.clone(),
                self.lookout.clone(),
                end,
                self.shared.clone(),
                self.request.isolation,
            );
            assignments.push(Assignment {
                partition: place,
                ownership,
                queue: Box::new(queue),
            });
        }
        client.pause(&list);
        list.set_offsets(0);
        client.assign(&list).map_err(|error| self.failed(&error))?;
        self.membership.add(owned);
        if !assignments.is_empty() {
            let _ = self.events.send(Event::Assigned(assignments));
        }
        Ok(())
    }

    /// Partitions are wanted back, or gone already.
    fn revoke(&self, list: &PartitionList) -> Step {
        let places = list.entries().into_iter().map(|entry| entry.partition);
        let owned = self.membership.numbers(places);
        if !owned.is_empty() {
            let lost = self.client().is_assignment_lost() || !self.wait_for_release(&owned);
            self.membership.remove(&owned);
            if lost {
                let _ = self.events.send(Event::Lost(owned));
            }
        }
        if self.client().is_assignment_lost() {
            // Whatever else there is goes with it, though the event for that is still to come: the proof that is stored next may
            // be that of a new membership, and brokers would take it for what the old one had.
            let others = self.membership.remove_all();
            if !others.is_empty() {
                let _ = self.events.send(Event::Lost(others));
            }
        }
        self.client()
            .unassign(list)
            .map_err(|error| self.failed(&error))?;
        self.membership.renew_proof();
        Ok(())
    }

    /// Asks for partitions, and waits until they are released. False: time is up, or they were lost meanwhile.
    fn wait_for_release(&self, owned: &Numbered) -> bool {
        if self.control.is_over() {
            return true;
        }
        let clock = &self.shared.config.clock;
        let deadline = clock.now() + self.request.revoke_timeout;
        let (release, released) = channel();
        let token = RevokeToken::new(deadline, move || {
            let _ = release.send(());
        });
        let _ = self.events.send(Event::Revoked(owned.clone(), token));
        loop {
            let left = deadline.saturating_sub(clock.now());
            match released.recv_timeout(left.min(LOOK)) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => self.lookout.wake(),
            }
            if self.control.is_over() {
                return true;
            }
            if clock.now() >= deadline || self.client().is_assignment_lost() {
                return false;
            }
        }
    }

    /// Leaves the group; others get the partitions at once.
    fn leave(&mut self) -> Result<()> {
        let clock = self.shared.config.clock.clone();
        let begun = clock.now();
        let mut look = begun + LEAVE_LOOK;
        let what = format!("leaving group `{}`", self.request.group);
        let client = self.client().clone();
        // What was told before is answered as always: with the classic protocol, librdkafka would not wait for it any more.
        while let Some(event) = self.queue.poll(0) {
            self.serve(&event).map_err(|Failed(error)| error)?;
        }
        // What is sent for them from here on is refused.
        self.membership.remove_all();
        client.close(&self.queue).map_err(|error| failed(&what, &error))?;
        let mut given_back = false;
        while !client.is_closed() {
            if clock.now() >= begun + LEAVE_TIMEOUT {
                return Err(failed(what, &NativeError::of(Code::RD_KAFKA_RESP_ERR__TIMED_OUT)));
            }
            if clock.now() >= look {
                // librdkafka would wait for a coordinator for as long as a session, if anything was asked of one.
                match client.connect(LOOK_TIMEOUT) {
                    Err(error) if error.code == Code::RD_KAFKA_RESP_ERR__TRANSPORT => {
                        return Err(failed(what, &error));
                    }
                    // It may just be slow.
                    _ => look = clock.now() + LEAVE_LOOK,
                }
            }
            // librdkafka waits for an answer, whatever it tells, and gives everything back with it. What comes after that needs
            // none: by then it may have left the group, and drops what it is asked without an answer, for which one would wait for
            // ever.
            if let Some(event) = self.queue.poll(POLL)
                && event.rebalance().is_some()
                && !std::mem::replace(&mut given_back, true)
            {
                let list = event.partitions();
                client.unassign(&list).map_err(|error| failed(&what, &error))?;
            }
        }
        Ok(())
    }

    /// Errors that the consumer tells.
    fn trouble(&mut self, error: &NativeError) -> Step {
        let fatal = error.fatal || error.code == Code::RD_KAFKA_RESP_ERR__FATAL;
        let cause = fatal.then(|| self.client().fatal_error()).flatten();
        let error = cause.as_ref().unwrap_or(error);
        match kind_of(error.code) {
            // Brokers before 4.0, or with the protocol switched off.
            ClusterErrorKind::Unsupported
                if fatal && self.protocol == Protocol::Consumer && !self.assigned =>
            {
                tracing::info!(group = %self.request.group, reason = %error, "the brokers have no `consumer` group protocol; using `classic`");
                self.join_classic()
            }
            // librdkafka would go on asking.
            _ if error.code == Code::RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT => {
                let what = format_args!(
                    "the brokers do not take a `session_timeout` of {:?}: see their `group.min.session.timeout.ms` and \
                     `group.max.session.timeout.ms`",
                    self.request.session_timeout
                );
                Err(Failed(failed(what, error)))
            }
            _ if fatal => Err(self.failed(error)),
            // A token that is not to be had just now ends nothing: the last one may be good for a while.
            ClusterErrorKind::Unauthorized if !error.is_missing_token() => Err(self.failed(error)),
            _ => {
                let what = format!("consumer of group `{}`", self.request.group);
                self.shared.config.log.trouble(&what, error);
                Ok(())
            }
        }
    }

    fn join_classic(&mut self) -> Step {
        self.protocol = Protocol::Classic;
        let properties = self.shared.config.member(&self.request, Protocol::Classic);
        let client = self.shared.client(Kind::Member, &properties).map_err(Failed)?;
        self.queue = Arc::new(Queue::of_consumer(&client));
        *lock(&self.control.queue) = self.queue.clone();
        self.membership.replace(client);
        self.join()
    }
}
