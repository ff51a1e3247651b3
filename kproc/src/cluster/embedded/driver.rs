//! What the embedded cluster lives on: time, delay and chance come from outside. Here: the trait, and its real
//! implementation; the simulator has another one.

use std::{
    collections::BTreeMap,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    clock::{BoxFuture, Clock, SystemClock},
    cluster::ClusterErrorKind,
    record::Timestamp,
};

/// Something to be done once.
pub type Job = Box<dyn FnOnce() + Send>;

/// What an instance asks of the cluster, for [`Driver::fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// A member leaves.
    Leave,
    /// Committed offsets are asked for.
    Committed,
    /// Offsets are committed, without a transaction.
    Commit,
    /// A partition's ends are asked for.
    Watermarks,
    /// A reader wants records.
    Read,
    /// A partition queue looks for records. That is no request: whatever goes wrong but a refusal, it is not heard of.
    Fetch,
    /// Records are written, outside of transactions.
    Produce,
    /// Records of a transaction are written.
    ProduceInTransaction,
    /// A transactional producer is initialised.
    InitTransactions,
    /// Offsets are added to a transaction.
    SendOffsets,
    /// A transaction is committed or aborted.
    EndTransaction,
    /// Any verb of administration.
    Admin,
}

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with an error of this kind, and nothing is done.
    Refuse(ClusterErrorKind),
    /// It does not arrive; the caller hears nothing ([`ClusterErrorKind::Unknown`], by time).
    LoseRequest,
    /// It is carried out; the caller hears nothing.
    LoseAnswer,
}

/// The world around an embedded cluster.
pub trait Driver: Clock {
    /// Runs `job` at `due` (monotonic; soon, if that is past), on some thread, with no lock held. Jobs of equal
    /// time run in the order in which they were given.
    fn run_at(&self, due: Duration, job: Job);

    /// How long the next message is on its way between an instance and the cluster. `None`: there is no way;
    /// requests are answered before the call returns.
    fn latency(&self) -> Option<Duration> {
        None
    }

    /// How long the request that is now made waits for an answer that does not come.
    fn request_timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// How many records a reader gets at most when it wants `max`: 1 to `max`.
    fn batch_size(&self, max: usize) -> usize {
        max
    }

    /// What goes wrong with the request that is now made.
    fn fault(&self, verb: Verb) -> Option<Fault> {
        let _ = verb;
        None
    }
}

/// Real time, no delays, and one thread for what is due later.
pub struct RealDriver {
    clock: Arc<SystemClock>,
    timers: Arc<Timers>,
}

impl fmt::Debug for RealDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealDriver").finish_non_exhaustive()
    }
}

/// Jobs by due time and order of arrival.
#[derive(Default)]
struct Timers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: BTreeMap<(Duration, u64), Job>,
    next: u64,
    /// The driver is gone, and its jobs with it.
    closed: bool,
}

impl RealDriver {
    /// Starts the thread; it ends with the driver. What is due then is not done any more.
    pub fn new(clock: Arc<SystemClock>) -> io::Result<Arc<Self>> {
        let timers = Arc::new(Timers::default());
        let of_thread = (clock.clone(), timers.clone());
        std::thread::Builder::new()
            .name("kproc-timer".into())
            .spawn(move || run(&of_thread.0, &of_thread.1))?;
        Ok(Arc::new(Self { clock, timers }))
    }
}

impl Drop for RealDriver {
    fn drop(&mut self) {
        let mut state = self.timers.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        self.timers.changed.notify_all();
        drop(jobs); // Not under the lock: what they own is not known here.
    }
}

impl Driver for RealDriver {
    fn run_at(&self, due: Duration, job: Job) {
        let mut state = self.timers.lock();
        let place = (due, state.next);
        state.next += 1;
        state.jobs.insert(place, job);
        if state
            .jobs
            .first_key_value()
            .is_some_and(|(first, _)| *first == place)
        {
            self.timers.changed.notify_all();
        }
    }
}

impl Clock for RealDriver {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        self.clock.sleep_until(due)
    }

    fn random(&self) -> u64 {
        self.clock.random()
    }
}

impl Timers {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No foreign code runs under this lock, so a poisoned state is whole all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread.
fn run(clock: &SystemClock, timers: &Timers) {
    let mut state = timers.lock();
    while !state.closed {
        let wait = state
            .jobs
            .first_key_value()
            .map_or(Duration::MAX, |(place, _)| place.0.saturating_sub(clock.now()));
        if !wait.is_zero() {
            let woken = timers.changed.wait_timeout(state, wait);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        } else if let Some((_, job)) = state.jobs.pop_first() {
            drop(state);
            // A waker may run foreign code. If that panics, the hook has reported it, and time goes on.
            drop(catch_unwind(AssertUnwindSafe(job)));
            state = timers.lock();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn driver() -> Arc<RealDriver> {
        RealDriver::new(Arc::default()).unwrap()
    }

    #[test]
    fn jobs_run_by_due_time_then_by_order() {
        let driver = driver();
        let (tell, told) = mpsc::channel();
        let soon = driver.now() + Duration::from_millis(20);
        for (due, name) in [(soon + Duration::from_millis(1), 3), (soon, 1), (soon, 2)] {
            let tell = tell.clone();
            driver.run_at(due, Box::new(move || tell.send(name).unwrap()));
        }
        assert_eq!([told.recv(), told.recv(), told.recv()], [Ok(1), Ok(2), Ok(3)]);
    }

    #[test]
    fn a_job_that_panics_does_not_end_time() {
        let driver = driver();
        let (tell, told) = mpsc::channel();
        driver.run_at(Duration::ZERO, Box::new(|| panic!("on purpose")));
        driver.run_at(Duration::ZERO, Box::new(move || tell.send(()).unwrap()));
        assert_eq!(told.recv(), Ok(()));
    }

    #[test]
    fn what_is_left_is_dropped_with_the_driver() {
        let driver = driver();
        let (tell, told) = mpsc::channel::<()>();
        driver.run_at(Duration::MAX, Box::new(move || drop(tell)));
        drop(driver);
        assert!(told.recv().is_err());
    }
}
