//! A real Kafka, by librdkafka.

use std::{pin::Pin, sync::Arc, time::Duration};

use kproc::{
    Clock, SystemClock,
    cluster::{
        Cluster,
        kafka::{KafkaCluster, KafkaOptions},
    },
};

use crate::{
    broker::TestBroker,
    harness::{Harness, Instance},
};

static BROKER: TestBroker = TestBroker::new(&[]);

/// As brokers before 4.0 are, in this.
static CLASSIC_BROKER: TestBroker = TestBroker::new(&["group.coordinator.rebalance.protocols=classic"]);

/// A broker, if there is one.
pub(crate) fn real() -> Option<Kafka> {
    BROKER.address().map(Kafka::at)
}

/// A broker without the `consumer` group protocol, if there is one.
pub(crate) fn classic() -> Option<Kafka> {
    CLASSIC_BROKER.address().map(Kafka::at)
}

/// A harness for Kafka.
pub(crate) struct Kafka {
    address: String,
    clock: Arc<SystemClock>,
}

impl Kafka {
    fn at(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            clock: Arc::new(SystemClock::new()),
        }
    }
}

impl Harness for Kafka {
    fn name(&self) -> String {
        format!("Kafka at {}", self.address)
    }

    fn connect(&self) -> Instance {
        let mut options = KafkaOptions::new(vec![self.address.clone()], self.clock.clone());
        // The bodies know how large records are that are not compressed.
        options.properties.set("compression.codec", "none");
        let cluster: Arc<dyn Cluster> = Arc::new(KafkaCluster::new(options).unwrap());
        Instance {
            cluster,
            // Dropping it is what a crash looks like.
            kill: Box::new(|| ()),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    fn block_on(&self, body: Pin<Box<dyn Future<Output = ()> + '_>>) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(body);
    }

    /// Shorter ones end by themselves where a machine is busy.
    fn session_timeout(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn writes_time_zero(&self) -> bool {
        false
    }
}
