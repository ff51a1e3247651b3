//! The embedded cluster, in real time: answering at once, and over links that take their time.

use std::{sync::Arc, time::Duration};

use kproc::{
    Clock, Timestamp,
    cluster::{
        BoxFuture, Cluster,
        embedded::{Driver, EmbeddedCluster, EmbeddedOptions, Job, RealDriver},
    },
};

use crate::harness::{Harness, Instance};

/// Answers before the call returns.
pub(crate) fn at_once() -> Embedded {
    Embedded::new(real())
}

/// Answers after random delays, in small batches.
pub(crate) fn with_latency() -> Embedded {
    Embedded::new(Arc::new(Slow(real())))
}

fn real() -> Arc<RealDriver> {
    RealDriver::new(Arc::default()).expect("a thread for the timers")
}

/// A harness for the embedded cluster.
pub(crate) struct Embedded {
    driver: Arc<dyn Driver>,
    cluster: EmbeddedCluster,
}

impl Embedded {
    fn new(driver: Arc<dyn Driver>) -> Self {
        let cluster = EmbeddedCluster::new(driver.clone(), EmbeddedOptions::default());
        Self { driver, cluster }
    }
}

impl Harness for Embedded {
    fn connect(&self) -> Instance {
        let connection = self.cluster.connect();
        let cluster: Arc<dyn Cluster> = connection.clone();
        Instance {
            cluster,
            kill: Box::new(move || connection.sever()),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.driver.clone()
    }

    fn clean(&self) {
        self.cluster.clean();
    }

    fn session_timeout(&self) -> Duration {
        Duration::from_millis(150)
    }
}

/// A driver whose messages take up to a millisecond.
struct Slow(Arc<RealDriver>);

impl Driver for Slow {
    fn run_at(&self, due: Duration, job: Job) {
        self.0.run_at(due, job);
    }

    fn latency(&self) -> Option<Duration> {
        Some(Duration::from_micros(self.random() % 1000))
    }

    fn batch_size(&self, max: usize) -> usize {
        1 + (self.random() % max.min(5) as u64) as usize
    }
}

impl Clock for Slow {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn wall(&self) -> Timestamp {
        self.0.wall()
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        self.0.sleep_until(due)
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}
