//! The clock of a simulation: virtual time, its timers, and all that is left to chance.
//!
//! Data and time only; what is polled when is the executor's business (`exec`).

use std::{
    collections::BTreeMap,
    fmt::Debug,
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

#[cfg(test)]
use super::{
    ambush::{Ambush, Ambushes, Sprung},
    coverage::{Coverage, Meeting},
};
use super::{exec::Crew, mishaps::Mishaps};
#[cfg(test)]
use crate::clock::Passage;
use crate::{
    clock::{BoxFuture, Clock, GOLDEN, mix},
    record::Timestamp,
    runtime::Seed,
};

/// By how much, while messages are slow.
const SLOWER: u32 = 200;

/// A part of the cluster that moves from broker to broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coordinator {
    Group,
    Transactions,
}

/// What happens when a timer is due.
pub(super) enum Due {
    Wake(Waker),
    Job(Box<dyn FnOnce() + Send>),
}

/// What the executor, its clock and its wakers share.
pub(super) struct Shared {
    pub(super) now: Duration,
    /// Wall time at `now` zero.
    pub(super) epoch: Timestamp,
    /// The latest that was.
    #[cfg(test)]
    latest_epoch: Timestamp,
    pub(super) random: u64,
    /// The longest that a [`Clock::point`] or a message takes as a rule; zero: nothing takes time.
    pub(super) longest_point: Duration,
    /// Until then, what takes time takes much longer.
    pub(super) slow_until: Duration,
    /// The coordinators that are away, and until when.
    pub(super) away: BTreeMap<Coordinator, Duration>,
    /// What goes wrong by chance, if anything does.
    mishaps: Option<Mishaps>,
    #[cfg(test)]
    coverage: Coverage,
    #[cfg(test)]
    ambushes: Ambushes,
    sequence: u64,
    pub(super) timers: BTreeMap<(Duration, u64), Due>,
    /// Woken, each once, in the order of waking.
    pub(super) ready: Vec<u64>,
    /// Whether somebody waits until something outside wakes a future.
    pub(super) waiting: bool,
    /// Whose future is being polled.
    pub(super) polled: Option<Crew>,
    /// Spawned, not yet made.
    pub(super) seeds: Vec<(Crew, Seed)>,
    pub(super) trace: Option<Vec<u8>>,
}

impl Shared {
    pub(super) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(GOLDEN);
        mix(self.random)
    }

    fn add_timer(&mut self, due: Duration, what: Due) -> (Duration, u64) {
        self.sequence += 1;
        self.timers.insert((due, self.sequence), what);
        (due, self.sequence)
    }

    /// Whoever is being polled comes to a place.
    #[cfg(test)]
    fn comes_to(&mut self, place: &'static str) {
        if let Some(crew) = self.polled {
            self.ambushes.comes(crew, place);
        }
    }

    pub(super) fn note(&mut self, what: u8, number: u64) {
        if let Some(trace) = &mut self.trace {
            trace.push(what);
            trace.extend_from_slice(&number.to_le_bytes());
            trace.extend_from_slice(&(self.now.as_nanos() as u64).to_le_bytes());
        }
    }
}

/// The clock of a simulation, and the way to spawn into it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SimClock {
    pub(super) core: Arc<Core>,
}

pub(super) struct Core {
    shared: Mutex<Shared>,
    /// Something outside has woken a future.
    pub(super) woken: Condvar,
}

impl SimClock {
    /// A clock whose chances are decided by `seed`.
    pub(super) fn new(seed: u64) -> Self {
        let shared = Shared {
            now: Duration::ZERO,
            epoch: Timestamp::from_millis(1_700_000_000_000),
            #[cfg(test)]
            latest_epoch: Timestamp::EPOCH,
            random: mix(seed.wrapping_add(GOLDEN)),
            longest_point: Duration::from_millis(2),
            slow_until: Duration::ZERO,
            away: BTreeMap::new(),
            mishaps: None,
            #[cfg(test)]
            coverage: Coverage::default(),
            #[cfg(test)]
            ambushes: Ambushes::default(),
            sequence: 0,
            timers: BTreeMap::new(),
            ready: Vec::new(),
            waiting: false,
            polled: None,
            seeds: Vec::new(),
            trace: None,
        };
        Self {
            core: Arc::new(Core {
                shared: Mutex::new(shared),
                woken: Condvar::new(),
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing is done under the lock that could leave it half done.
        self.core.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `job` at `due`, as if from outside: it belongs to no crew and survives all of them.
    pub(crate) fn schedule(&self, due: Duration, job: impl FnOnce() + Send + 'static) {
        self.lock().add_timer(due, Due::Job(Box::new(job)));
    }

    /// How long the next thing takes that takes time; `None`: no such thing does. One in sixteen takes much
    /// longer than the others, so that what comes after it elsewhere overtakes it.
    pub(super) fn delay(&self) -> Option<Duration> {
        let mut shared = self.lock();
        let longest = shared.longest_point.as_nanos() as u64;
        if longest == 0 {
            return None;
        }
        let delay = 1 + shared.random() % longest;
        let slow = shared.random().is_multiple_of(16);
        let mut delay = Duration::from_nanos(if slow { delay * 16 } else { delay });
        if shared.now < shared.slow_until && shared.random().is_multiple_of(4) {
            delay *= SLOWER;
        }
        #[cfg(test)]
        if let Some(crew) = shared.polled
            && shared.ambushes.is_slow(crew)
        {
            delay *= SLOWER;
        }
        Some(delay)
    }

    /// Lets one message in four take very long, for a while: seconds where others take milliseconds.
    #[cfg(test)]
    pub(crate) fn slow_down(&self, time: Duration) {
        let mut shared = self.lock();
        shared.slow_until = shared.slow_until.max(shared.now + time);
    }

    /// A coordinator is away for a while.
    #[cfg(test)]
    pub(crate) fn send_away(&self, coordinator: Coordinator, time: Duration) {
        let mut shared = self.lock();
        let until = shared.now + time;
        shared.away.insert(coordinator, until);
    }

    /// Nothing is slow, and nobody away; the wall clock is no earlier than it has ever been.
    #[cfg(test)]
    pub(crate) fn calm_down(&self) {
        let mut shared = self.lock();
        shared.epoch = shared.epoch.max(shared.latest_epoch);
        shared.slow_until = Duration::ZERO;
        shared.away.clear();
    }

    pub(super) fn is_away(&self, coordinator: Coordinator) -> bool {
        let shared = self.lock();
        shared
            .away
            .get(&coordinator)
            .is_some_and(|until| shared.now < *until)
    }

    /// The wall clock jumps. Monotonic time goes on.
    #[cfg(test)]
    pub(crate) fn jump_wall(&self, millis: i64) {
        let mut shared = self.lock();
        shared.latest_epoch = shared.latest_epoch.max(shared.epoch);
        shared.epoch = Timestamp::from_millis(shared.epoch.as_millis() + millis);
    }

    /// A number below `end`, if chance has a part in this simulation.
    pub(super) fn chance(&self, end: u64) -> Option<u64> {
        let mut shared = self.lock();
        (!shared.longest_point.is_zero()).then(|| shared.random() % end)
    }

    /// From now on, this goes wrong by chance. Returns what did before.
    #[cfg(test)]
    pub(crate) fn set_mishaps(&self, mishaps: Option<Mishaps>) -> Option<Mishaps> {
        std::mem::replace(&mut self.lock().mishaps, mishaps)
    }

    /// From now on, no request goes wrong by chance.
    #[cfg(test)]
    pub(crate) fn spare_requests(&self) {
        self.lock().mishaps.iter_mut().for_each(Mishaps::spare_requests);
    }

    /// From now on these lie in wait, and no others.
    #[cfg(test)]
    pub(crate) fn lay(&self, ambushes: Vec<Ambush>) {
        self.lock().ambushes = Ambushes::of(ambushes);
    }

    /// Those that were sprung since this was asked last.
    #[cfg(test)]
    pub(crate) fn take_sprung(&self) -> Vec<Sprung> {
        self.lock().ambushes.take_sprung()
    }

    /// Whether the request that is now made runs into an ambush, and by which chance it goes wrong.
    #[cfg(test)]
    pub(super) fn request_fails(&self) -> Option<u64> {
        let mut shared = self.lock();
        let crew = shared.polled?;
        shared.ambushes.fails(crew)
    }

    /// Something happens to a crew from outside; `None`: to all.
    #[cfg(test)]
    pub(crate) fn happens_to(&self, crew: Option<Crew>, what: &'static str) {
        self.lock().coverage.happens(crew, what);
    }

    /// How often what has come in the middle of what.
    #[cfg(test)]
    pub(crate) fn meetings(&self) -> BTreeMap<Meeting, u64> {
        self.lock().coverage.meetings().clone()
    }

    /// Whose future is being polled now.
    #[cfg(test)]
    pub(crate) fn polled(&self) -> Option<Crew> {
        self.lock().polled
    }

    /// Decides whether one of `choices`, which have weights, happens to `whom` now, as one in so many times.
    #[cfg(test)]
    pub(crate) fn mishap<C: Debug + Copy>(
        &self,
        one_in: u64,
        whom: &dyn Debug,
        choices: &[(u64, C)],
    ) -> Option<C> {
        let mut shared = self.lock();
        let now = shared.now;
        shared.mishaps.as_mut()?.decide(now, one_in, whom, choices)
    }

    /// Decides whether one of `choices` happens to a request to the cluster of this kind, if any goes wrong in this
    /// simulation; so much more seldom than to others.
    pub(super) fn request_mishap<C: Debug + Copy>(
        &self,
        kind: u64,
        seldom: u64,
        whom: &dyn Debug,
        choices: &[(u64, C)],
    ) -> Option<C> {
        let mut shared = self.lock();
        let now = shared.now;
        let mishaps = shared.mishaps.as_mut()?;
        mishaps.decide(now, mishaps.of_requests(kind)? * seldom, whom, choices)
    }

    /// Adds a future to a crew.
    pub(crate) fn spawn(&self, crew: Crew, seed: Seed) {
        self.lock().seeds.push((crew, seed));
    }
}

impl Clock for SimClock {
    fn now(&self) -> Duration {
        self.lock().now
    }

    fn wall(&self) -> Timestamp {
        let shared = self.lock();
        shared.epoch.saturating_add(shared.now)
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Sleep {
            clock: self.clone(),
            due,
            timer: None,
        })
    }

    #[cfg_attr(not(test), expect(unused_variables, reason = "only tests lie in wait"))]
    fn point(&self, name: &'static str) -> BoxFuture<'static, ()> {
        #[cfg(test)]
        self.comes_to(name);
        match self.delay() {
            Some(delay) => self.sleep_until(self.now() + delay),
            None => Box::pin(yield_once()),
        }
    }

    #[cfg(test)]
    fn passage(&self, name: &'static str) -> Passage {
        let mut shared = self.lock();
        let Some(crew) = shared.polled else {
            return Passage::default();
        };
        shared.coverage.begins(crew, name);
        shared.ambushes.comes(crew, name);
        let clock = self.clone();
        Passage::new(move || clock.lock().coverage.ends(crew, name))
    }

    #[cfg(test)]
    fn happens(&self, what: &'static str) {
        let mut shared = self.lock();
        if let Some(crew) = shared.polled {
            shared.coverage.happens(Some(crew), what);
        }
        shared.comes_to(what);
    }

    #[cfg(test)]
    fn comes_to(&self, place: &'static str) {
        self.lock().comes_to(place);
    }

    fn random(&self) -> u64 {
        self.lock().random()
    }
}

struct Sleep {
    clock: SimClock,
    due: Duration,
    timer: Option<(Duration, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let (replaced, result) = {
            let clock = self.clock.clone();
            let mut shared = clock.lock();
            let replaced = self.timer.take().and_then(|timer| shared.timers.remove(&timer));
            if shared.now >= self.due {
                (replaced, Poll::Ready(()))
            } else {
                self.timer = Some(shared.add_timer(self.due, Due::Wake(cx.waker().clone())));
                (replaced, Poll::Pending)
            }
        };
        // Wakers are dropped outside the lock: what they keep alive may use the clock.
        drop(replaced);
        result
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            let removed = self.clock.lock().timers.remove(&timer);
            drop(removed);
        }
    }
}

/// Lets others run.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
