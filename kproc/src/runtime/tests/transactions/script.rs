//! A driver that does as a script says to the requests that come, and keeps a list of them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    Clock, Timestamp,
    clock::BoxFuture,
    cluster::embedded::{Driver, Fault, Job, Verb},
    testing::clock::SimClock,
};

/// A request.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Call {
    pub(in super::super) verb: Verb,
    /// How many of this verb came before.
    pub(in super::super) number: usize,
    pub(in super::super) now: Duration,
}

/// What becomes of a request.
pub(in super::super) enum Act {
    Go,
    Fail(Fault),
    /// It arrives so much later.
    Late(Duration),
}

type Play = Box<dyn FnMut(Call) -> Act + Send>;

/// See the module.
pub(in super::super) struct Script {
    clock: SimClock,
    state: Mutex<State>,
}

struct State {
    calls: Vec<Call>,
    play: Play,
    late: Option<Duration>,
}

impl Script {
    pub(in super::super) fn new(
        clock: SimClock,
        play: impl FnMut(Call) -> Act + Send + 'static,
    ) -> Arc<Self> {
        let state = State {
            calls: Vec::new(),
            play: Box::new(play),
            late: None,
        };
        Arc::new(Self {
            clock,
            state: Mutex::new(state),
        })
    }

    /// When requests of this kind were made.
    pub(in super::super) fn times(&self, verb: Verb) -> Vec<Duration> {
        let state = self.state.lock().unwrap();
        let calls = state.calls.iter().filter(|call| call.verb == verb);
        calls.map(|call| call.now).collect()
    }

    /// How many requests of this kind were made.
    pub(in super::super) fn count(&self, verb: Verb) -> usize {
        self.times(verb).len()
    }
}

impl Driver for Script {
    fn run_at(&self, due: Duration, job: Job) {
        self.clock.run_at(due, job);
    }

    fn latency(&self) -> Option<Duration> {
        let late = self.state.lock().unwrap().late.take();
        self.clock
            .latency()
            .map(|latency| latency + late.unwrap_or_default())
    }

    fn request_timeout(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn batch_size(&self, max: usize) -> usize {
        self.clock.batch_size(max)
    }

    fn fault(&self, verb: Verb) -> Option<Fault> {
        let now = self.clock.now();
        let mut state = self.state.lock().unwrap();
        let number = state.calls.iter().filter(|call| call.verb == verb).count();
        let call = Call { verb, number, now };
        state.calls.push(call);
        match (state.play)(call) {
            Act::Go => None,
            Act::Fail(fault) => Some(fault),
            Act::Late(late) => {
                state.late = Some(late);
                None
            }
        }
    }
}

impl Clock for Script {
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
