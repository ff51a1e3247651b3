//! The embedded cluster: in real time, answering at once, and in virtual time under many delays.

use std::{pin::Pin, sync::Arc, time::Duration};

use kproc::{
    Clock,
    cluster::{
        Cluster,
        embedded::{Driver, EmbeddedCluster, EmbeddedOptions, RealDriver},
    },
};

use crate::{
    harness::{Harness, Instance},
    simulated::{Simulated, SimulatedDriver},
};

/// In real time, without delays.
pub(crate) fn real() -> [Embedded; 1] {
    let driver = RealDriver::new(Arc::default()).expect("a thread for the timers");
    [Embedded::new("real time".into(), driver, None)]
}

/// In virtual time, with the delays of many seeds.
pub(crate) fn simulated() -> impl Iterator<Item = Embedded> {
    (0..100).map(|seed| {
        let time = Simulated::new(seed);
        Embedded::new(
            format!("seed {seed}"),
            Arc::new(SimulatedDriver(time.clone())),
            Some(time),
        )
    })
}

/// A harness for the embedded cluster.
pub(crate) struct Embedded {
    name: String,
    driver: Arc<dyn Driver>,
    cluster: EmbeddedCluster,
    simulated: Option<Arc<Simulated>>,
}

impl Embedded {
    fn new(name: String, driver: Arc<dyn Driver>, simulated: Option<Arc<Simulated>>) -> Self {
        let cluster = EmbeddedCluster::new(driver.clone(), EmbeddedOptions::default());
        Self {
            name,
            driver,
            cluster,
            simulated,
        }
    }
}

impl Harness for Embedded {
    fn name(&self) -> String {
        self.name.clone()
    }

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

    fn block_on(&self, body: Pin<Box<dyn Future<Output = ()> + '_>>) {
        match &self.simulated {
            Some(time) => time.block_on(body),
            None => tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap()
                .block_on(body),
        }
    }

    fn clean(&self) {
        self.cluster.clean();
    }

    fn session_timeout(&self) -> Duration {
        Duration::from_millis(150)
    }
}
