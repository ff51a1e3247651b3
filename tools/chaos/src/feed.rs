//! Writes the input: numbers, each once, for keys that chance picks.

use std::{cell::Cell, sync::Arc, time::Duration};

use kproc::{
    Clock, SystemClock,
    cluster::{Cluster, Producer, ProducerOptions, Result},
    outbox::{Outbox, RawRecord},
};

use crate::{chance::Chance, count::NUMBERS, options::Options};

/// How often something is written.
const BEAT: Duration = Duration::from_millis(50);
/// How many records are handed over at once, at most.
const PIECE: u64 = 5000;

/// See the module.
pub(crate) struct Feeder {
    producer: Box<dyn Producer>,
    outbox: Outbox,
    topic: Arc<str>,
    chance: Chance,
    /// How many records there are: the next number.
    pub(crate) written: u64,
}

impl Feeder {
    pub(crate) fn new(cluster: &dyn Cluster, options: &Options) -> Result<Self> {
        Ok(Self {
            producer: cluster.producer(ProducerOptions::default())?,
            outbox: Outbox::default(),
            topic: NUMBERS.name().into(),
            chance: Chance::new(options.seed, u64::MAX),
            written: 0,
        })
    }

    /// A record of each key.
    pub(crate) async fn preload(&mut self, keys: u64) -> Result<()> {
        for key in 0..keys {
            self.push(key);
            if key % PIECE == 0 {
                self.producer.send(&mut self.outbox).await?;
            }
        }
        self.write().await
    }

    /// Writes on and on, as fast as it is told to, until `enough`.
    pub(crate) async fn feed(
        &mut self,
        clock: &SystemClock,
        options: &Options,
        enough: &Cell<bool>,
    ) -> Result<()> {
        let mut due = 0;
        let mut last = clock.now();
        while !enough.get() {
            clock.sleep_until(clock.now() + BEAT).await;
            // What a broker that was away has cost is not made up for.
            due += clock.now().saturating_sub(last).min(BEAT * 10).as_micros() as u64 * options.rate;
            last = clock.now();
            for _ in 0..due / 1_000_000 {
                let key = self.chance.below(options.keys);
                self.push(key);
            }
            due %= 1_000_000;
            self.write().await?;
        }
        Ok(())
    }

    fn push(&mut self, key: u64) {
        let key = format!("key-{key:06}");
        let record = RawRecord {
            key: Some(key.as_bytes()),
            value: Some(&self.written.to_be_bytes()),
            ..RawRecord::default()
        };
        self.outbox.push_raw(&self.topic, &record);
        self.written += 1;
    }

    async fn write(&mut self) -> Result<()> {
        self.producer.send(&mut self.outbox).await?;
        self.producer.flush().await.map(|_| ())
    }
}
