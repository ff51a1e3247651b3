//! Virtual time: each body runs over and over, each time under other delays, in a moment.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use kproc::{
    Clock, Timestamp,
    cluster::{
        BoxFuture,
        embedded::{Driver, Job},
    },
};

/// Time that jumps from one thing to the next, and delays by a seed.
pub(crate) struct Simulated(Mutex<State>);

struct State {
    now: Duration,
    random: u64,
    jobs: BTreeMap<(Duration, u64), Job>,
    next: u64,
}

impl Simulated {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let random = seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
        Arc::new(Self(Mutex::new(State {
            now: Duration::ZERO,
            random,
            jobs: BTreeMap::new(),
            next: 0,
        })))
    }

    /// Runs a future, and time with it.
    pub(crate) fn block_on(&self, mut future: Pin<Box<dyn Future<Output = ()> + '_>>) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        loop {
            if woken.0.swap(false, Ordering::Relaxed) {
                if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    return;
                }
                continue;
            }
            let job = {
                let mut state = self.0.lock().unwrap();
                let ((due, _), job) = state.jobs.pop_first().expect("nothing can happen any more");
                state.now = state.now.max(due);
                job
            };
            job();
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Simulated time, shared by the harness and the cluster.
#[derive(Clone)]
pub(crate) struct SimulatedDriver(pub(crate) Arc<Simulated>);

impl Driver for SimulatedDriver {
    fn run_at(&self, due: Duration, job: Job) {
        let mut state = self.0.0.lock().unwrap();
        let place = (due, state.next);
        state.next += 1;
        state.jobs.insert(place, job);
    }

    fn latency(&self) -> Option<Duration> {
        Some(Duration::from_micros(self.random() % 3000))
    }

    fn batch_size(&self, max: usize) -> usize {
        1 + (self.random() % max.min(20) as u64) as usize
    }
}

impl Clock for SimulatedDriver {
    fn now(&self) -> Duration {
        self.0.0.lock().unwrap().now
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).saturating_add(self.now())
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Sleep {
            driver: self.clone(),
            due,
            alarm: None,
        })
    }

    fn random(&self) -> u64 {
        // Xorshift, of which the upper half is the better one.
        let random = &mut self.0.0.lock().unwrap().random;
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random >> 20
    }
}

struct Sleep {
    driver: SimulatedDriver,
    due: Duration,
    alarm: Option<Arc<Mutex<Option<Waker>>>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.driver.now() >= self.due {
            return Poll::Ready(());
        }
        let waker = Some(cx.waker().clone());
        if let Some(alarm) = &self.alarm {
            *alarm.lock().unwrap() = waker;
        } else {
            let alarm = Arc::new(Mutex::new(waker));
            self.alarm = Some(alarm.clone());
            let ring = move || {
                let waker = alarm.lock().unwrap().take();
                waker.into_iter().for_each(Waker::wake);
            };
            self.driver.run_at(self.due, Box::new(ring));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.lock().unwrap().take();
        }
    }
}
