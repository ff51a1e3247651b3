//! A seeded executor with a virtual clock.
//!
//! All futures of a simulation run here, on one thread. Each step polls one future, chosen by the seed among
//! those that were woken; when none is, time jumps to the next timer. So a seed is a whole history: the same
//! seed gives the same one again, byte for byte (`Executor::trace`). Time itself is in `clock`.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use super::clock::{Due, Shared, SimClock};
use crate::{
    clock::{BoxFuture, Clock},
    record::Timestamp,
};

/// Futures that live and die together: an instance of the application, or what drives the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crew(pub(crate) u64);

/// Wakes one future of an executor.
struct Handle {
    number: u64,
    clock: SimClock,
}

impl Wake for Handle {
    fn wake(self: Arc<Self>) {
        let mut shared = self.clock.lock();
        if !shared.ready.contains(&self.number) {
            shared.ready.push(self.number);
            if shared.waiting {
                self.clock.core.woken.notify_all();
            }
        }
    }
}

struct Running {
    crew: Crew,
    waker: Waker,
    future: BoxFuture<'static, ()>,
}

/// See the module.
pub(crate) struct Executor {
    clock: SimClock,
    running: BTreeMap<u64, Running>,
    frozen: BTreeSet<Crew>,
    spawned: u64,
    steps: u64,
}

impl Executor {
    /// An executor whose history is decided by `seed`. Points take up to two milliseconds.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            clock: SimClock::new(seed),
            running: BTreeMap::new(),
            frozen: BTreeSet::new(),
            spawned: 0,
            steps: 0,
        }
    }

    /// Points take no time from here on: virtual time advances only when all are waiting for it.
    pub(crate) fn without_delays(self) -> Self {
        self.clock.lock().longest_point = Duration::ZERO;
        self
    }

    /// Sets wall time, as of now.
    pub(crate) fn with_wall(self, wall: Timestamp) -> Self {
        {
            let mut shared = self.clock.lock();
            shared.epoch = wall.saturating_sub(shared.now);
        }
        self
    }

    /// The clock.
    pub(crate) fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn add(&mut self, crew: Crew, future: BoxFuture<'static, ()>) {
        self.spawned += 1;
        let number = self.spawned;
        let waker = Waker::from(Arc::new(Handle {
            number,
            clock: self.clock.clone(),
        }));
        self.running.insert(number, Running { crew, waker, future });
        self.clock.lock().ready.push(number);
    }

    /// A crash: drops all futures of a crew, wherever they are. Sever its link to the cluster first; else the
    /// destructors still reach it, and the crash looks like a clean end.
    pub(crate) fn kill(&mut self, crew: Crew) {
        self.frozen.remove(&crew);
        let unborn = {
            let mut shared = self.clock.lock();
            let (unborn, others) = std::mem::take(&mut shared.seeds)
                .into_iter()
                .partition(|seed| seed.0 == crew);
            shared.seeds = others;
            shared.note(b'k', crew.0);
            unborn
        };
        drop::<Vec<_>>(unborn);
        let numbers: Vec<u64> = self
            .running
            .iter()
            .filter(|(_, running)| running.crew == crew)
            .map(|(number, _)| *number)
            .collect();
        for number in numbers {
            drop(self.running.remove(&number));
        }
    }

    /// Polls one woken future; false: none is woken.
    pub(crate) fn step_ready(&mut self) -> bool {
        let seeds = std::mem::take(&mut self.clock.lock().seeds);
        let (unborn, seeds): (Vec<_>, Vec<_>) = seeds
            .into_iter()
            .partition(|(crew, _)| self.frozen.contains(crew));
        for (crew, seed) in seeds {
            self.add(crew, seed());
        }
        let number = {
            let mut shared = self.clock.lock();
            shared.seeds.extend(unborn);
            let Some(choice) = self.choose(&mut shared) else {
                return false;
            };
            let number = shared.ready.remove(choice);
            shared.note(b'p', number);
            shared.polled = self.running.get(&number).map(|running| running.crew);
            number
        };
        self.steps += 1;
        if let Some(running) = self.running.get_mut(&number) {
            let waker = running.waker.clone();
            if running
                .future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                drop(self.running.remove(&number));
            }
        }
        true
    }

    /// Which of those that were woken comes next, if any can.
    fn choose(&self, shared: &mut Shared) -> Option<usize> {
        let can = |number: &u64| {
            let running = self.running.get(number);
            running.is_none_or(|running| !self.frozen.contains(&running.crew))
        };
        if self.frozen.is_empty() {
            let ready = shared.ready.len() as u64;
            return (ready > 0).then(|| (shared.random() % ready) as usize);
        }
        let awake: Vec<usize> = (0..shared.ready.len())
            .filter(|place| can(&shared.ready[*place]))
            .collect();
        let choice = shared.random() % (awake.len() as u64).max(1);
        awake.get(choice as usize).copied()
    }

    /// Lets time go on to the next timer, `until` at most. False: there is none before that.
    pub(crate) fn tick(&mut self, until: Duration) -> bool {
        let due = {
            let mut shared = self.clock.lock();
            match shared.timers.first_key_value() {
                Some(((due, _), _)) if *due <= until => {}
                _ => return false,
            }
            let Some(((at, _), due)) = shared.timers.pop_first() else {
                return false;
            };
            shared.now = shared.now.max(at);
            shared.polled = None;
            due
        };
        match due {
            Due::Wake(waker) => waker.wake(),
            Due::Job(job) => job(),
        }
        true
    }

    /// One step: polls a woken future, or else lets time jump to the next timer, `until` at most. False:
    /// nothing can happen (before `until`) any more.
    fn step_until(&mut self, until: Duration) -> bool {
        self.step_ready() || self.tick(until)
    }

    /// Waits, in real time, until something outside wakes a future. False: nothing did.
    pub(crate) fn wait_for_outside(&self, at_most: Duration) -> bool {
        let mut shared = self.clock.lock();
        shared.waiting = true;
        let nothing = |shared: &mut Shared| shared.ready.is_empty();
        let waited = self.clock.core.woken.wait_timeout_while(shared, at_most, nothing);
        let (mut shared, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        shared.waiting = false;
        !waited.timed_out()
    }

    /// One step: polls a woken future, or else lets time jump to the next timer. False: nothing can happen any
    /// more, unless something outside wakes a future.
    pub(crate) fn step(&mut self) -> bool {
        self.step_until(Duration::MAX)
    }

    /// Runs until all futures wait for time or for something outside; no time passes.
    pub(crate) fn settle(&mut self) {
        while self.step_ready() {}
    }

    /// Runs everything that happens in the next `by` of virtual time.
    pub(crate) fn advance(&mut self, by: Duration) {
        let until = self.clock.now() + by;
        while self.step_until(until) {}
        self.clock.lock().now = until;
    }

    /// Lets time jump: what was due meanwhile is late, as when a machine was suspended.
    pub(crate) fn jump(&mut self, by: Duration) {
        self.clock.lock().now += by;
    }

    /// Runs until `future` has a result, all other futures beside it; `None`: it cannot get one any more.
    pub(crate) fn run_until<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        self.spawned += 1;
        let number = self.spawned;
        let waker = Waker::from(Arc::new(Handle {
            number,
            clock: self.clock.clone(),
        }));
        self.clock.lock().ready.push(number);
        loop {
            // Polled after each step rather than as one of the crowd: it is not part of the history.
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                self.clock.lock().ready.retain(|ready| *ready != number);
                return Some(result);
            }
            if !self.step() {
                return None;
            }
        }
    }
}

/// What only simulations of whole worlds ask for.
#[cfg(test)]
impl Executor {
    /// Keeps a trace from here on.
    pub(crate) fn traced(self) -> Self {
        self.clock.lock().trace = Some(Vec::new());
        self
    }

    /// What happened: which future was polled when. Empty unless [`Self::traced`].
    pub(crate) fn trace(&self) -> Vec<u8> {
        self.clock.lock().trace.clone().unwrap_or_default()
    }

    /// How many steps were made.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Adds a future to a crew.
    pub(crate) fn spawn(&mut self, crew: Crew, future: impl Future<Output = ()> + 'static) {
        self.add(crew, Box::pin(future));
    }

    /// Stops a crew as SIGSTOP does: nothing of it is polled, and what is due or answered meanwhile waits for it. Its
    /// link to the cluster is to be frozen, too.
    pub(crate) fn freeze(&mut self, crew: Crew) {
        if self.frozen.insert(crew) {
            self.clock.lock().note(b'f', crew.0);
        }
    }

    /// Lets it go on, as if nothing had been.
    pub(crate) fn thaw(&mut self, crew: Crew) {
        if self.frozen.remove(&crew) {
            self.clock.lock().note(b't', crew.0);
        }
    }

    /// How many futures of a crew have not ended.
    pub(crate) fn alive(&self, crew: Crew) -> usize {
        let unborn = self
            .clock
            .lock()
            .seeds
            .iter()
            .filter(|seed| seed.0 == crew)
            .count();
        unborn
            + self
                .running
                .values()
                .filter(|running| running.crew == crew)
                .count()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    fn history(seed: u64) -> (Vec<u64>, Vec<u8>) {
        let mut executor = Executor::new(seed).traced();
        let log = Rc::new(RefCell::new(Vec::new()));
        for name in 0..4 {
            let (clock, log) = (executor.clock().clone(), log.clone());
            executor.spawn(Crew(name % 2), async move {
                for _ in 0..3 {
                    clock.point("between").await;
                    log.borrow_mut().push(name);
                }
            });
        }
        while executor.step() {}
        let log = log.borrow().clone();
        (log, executor.trace())
    }

    #[test]
    fn a_seed_is_a_history() {
        assert_eq!(history(7), history(7));
        let different = (0..20).map(|seed| history(seed).0).collect::<BTreeSet<_>>();
        assert!(
            different.len() > 10,
            "seeds hardly matter: {} histories of 20",
            different.len()
        );
    }

    #[test]
    fn time_advances_only_as_far_as_it_is_told() {
        let mut executor = Executor::new(1).without_delays();
        let clock = executor.clock().clone();
        let woken = Rc::new(RefCell::new(Vec::new()));
        for due in [5_u64, 10, 15] {
            let (clock, woken) = (clock.clone(), woken.clone());
            executor.spawn(Crew(1), async move {
                clock.sleep_until(Duration::from_secs(due)).await;
                woken.borrow_mut().push((due, clock.now().as_secs()));
            });
        }
        executor.advance(Duration::from_secs(12));
        assert_eq!(*woken.borrow(), [(5, 5), (10, 10)]);
        assert_eq!(clock.now(), Duration::from_secs(12));
        executor.settle();
        assert_eq!(executor.alive(Crew(1)), 1);
    }

    #[test]
    fn a_frozen_crew_finds_all_that_was_due_when_it_thaws() {
        let mut executor = Executor::new(1).without_delays();
        let clock = executor.clock().clone();
        let woken = Rc::new(RefCell::new(Vec::new()));
        for (crew, due) in [(1, 1_u64), (1, 2), (2, 3)] {
            let (clock, woken) = (clock.clone(), woken.clone());
            executor.spawn(Crew(crew), async move {
                clock.sleep_until(Duration::from_secs(due)).await;
                woken.borrow_mut().push((crew, clock.now().as_secs()));
            });
        }
        executor.settle();
        executor.freeze(Crew(1));
        executor.advance(Duration::from_secs(5));
        assert_eq!(*woken.borrow(), [(2, 3)]);
        executor.thaw(Crew(1));
        executor.settle();
        assert_eq!(*woken.borrow(), [(2, 3), (1, 5), (1, 5)]);
    }

    #[test]
    fn a_killed_crew_is_dropped_and_the_others_go_on() {
        struct Bell(Rc<RefCell<u32>>);
        impl Drop for Bell {
            fn drop(&mut self) {
                *self.0.borrow_mut() += 1;
            }
        }
        let mut executor = Executor::new(1);
        let clock = executor.clock().clone();
        let dropped = Rc::new(RefCell::new(0));
        for crew in [1, 2] {
            let (clock, bell) = (clock.clone(), Bell(dropped.clone()));
            executor.spawn(Crew(crew), async move {
                clock.sleep_until(Duration::from_secs(1)).await;
                drop(bell);
            });
        }
        executor.settle();
        executor.kill(Crew(1));
        assert_eq!(
            (
                *dropped.borrow(),
                executor.alive(Crew(1)),
                executor.alive(Crew(2))
            ),
            (1, 0, 1)
        );
        let after = executor.run_until(async { clock.sleep_until(Duration::from_secs(2)).await });
        assert!(after.is_some() && *dropped.borrow() == 2);
        assert!(executor.run_until(std::future::pending::<()>()).is_none());
    }
}
