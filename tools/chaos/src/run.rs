//! A run, from the first topic to the report.

use std::{
    cell::{Cell, RefCell},
    error::Error,
    fs,
    path::Path,
    sync::Arc,
    time::Duration,
};

use futures_util::future::try_join_all;
use kproc::{
    Clock, SystemClock,
    cluster::{
        Cluster, NewTopic,
        kafka::{KafkaCluster, KafkaOptions},
    },
};

use crate::{
    BROKER,
    count::{APP, NUMBERS, TALLIES},
    feed::Feeder,
    observe::Observer,
    options::Options,
    process::Process,
    report::Report,
    restores,
    storm::{Deeds, Storm},
    stuck, transactions, verify,
};

/// How often the observer looks.
const LOOK: Duration = Duration::from_millis(250);
/// Without any output for longer than this, something deserves a look.
const LONG: Duration = Duration::from_secs(20);
/// How often a line tells how things go.
const TELL: Duration = Duration::from_secs(10);

/// What keeps a run from being tried.
pub(crate) type Failure = Box<dyn Error>;

/// What a run has.
struct Run<'r> {
    options: &'r Options,
    clock: Arc<SystemClock>,
    cluster: KafkaCluster,
    processes: Vec<Process>,
    observer: Observer,
    feeder: Feeder,
    longest_wait: Duration,
}

/// Runs; states and logs are in `directory`.
pub(crate) async fn run(options: &Options, brokers: &str, directory: &Path) -> Result<Report, Failure> {
    let clock = Arc::new(SystemClock::new());
    let cluster = KafkaCluster::new(KafkaOptions::new(vec![brokers.to_owned()], clock.clone()))?;
    make_topics(&cluster, options).await?;
    let process = |number| Process::new(options, brokers, directory, number);
    let mut run = Run {
        options,
        processes: (0..options.processes).map(process).collect::<Result<_, _>>()?,
        observer: Observer::new(&cluster, options)?,
        feeder: Feeder::new(&cluster, options)?,
        clock,
        cluster,
        longest_wait: Duration::ZERO,
    };
    run.all().await
}

async fn make_topics(cluster: &KafkaCluster, options: &Options) -> Result<(), Failure> {
    let new = [NUMBERS.name(), TALLIES.name()].map(|name| NewTopic {
        name: name.into(),
        partitions: options.partitions,
        config: vec![("retention.ms".to_owned(), "-1".to_owned())],
    });
    let made = cluster.admin()?.create(new.to_vec()).await?;
    made.into_iter().collect::<Result<Vec<()>, _>>()?;
    Ok(())
}

impl Run<'_> {
    async fn all(&mut self) -> Result<Report, Failure> {
        let begun = self.clock.now();
        if self.options.preload {
            self.feeder.preload(self.options.keys).await?;
        }
        let clock = self.clock.clone();
        let storm = Storm {
            options: self.options,
            clock: &clock,
            begun,
            deeds: RefCell::default(),
        };
        self.weather(&storm).await?;
        self.settle(&storm).await?;
        let compared = self.compare().await?;
        let restored = self.restore_all(&storm).await?;
        let transactions = BROKER
            .directory()
            .ok_or_else(|| "it is not our broker".to_owned());
        let transactions = transactions.and_then(transactions::count);
        let deeds = storm.deeds.into_inner();
        let ended_early = self.observer.ended_early();
        let model = &mut self.observer.model;
        for stuck in &deeds.stuck {
            model.violations.add(|| stuck.clone());
        }
        let lost: Vec<String> = model.lost().collect();
        for lost in lost {
            model.violations.add(|| lost);
        }
        Ok(Report {
            options: self.options.clone(),
            took: self.clock.now().saturating_sub(begun),
            deeds,
            transactions,
            records: model.inputs,
            outputs: model.outputs,
            lost: model.missing(),
            duplicated: model.duplicated,
            longest_wait: self.longest_wait,
            ended_early,
            compared,
            restored,
            told: restores::read(&self.processes),
            violations: std::mem::take(&mut model.violations),
        })
    }

    /// Harm is done, while records come in and an observer looks.
    async fn weather(&mut self, storm: &Storm<'_>) -> Result<(), Failure> {
        let (calm, fed) = (Cell::new(false), Cell::new(false));
        let attacks = self.processes.iter_mut().map(|process| storm.attack(process));
        let harm = async {
            tokio::try_join!(try_join_all(attacks), storm.attack_broker())?;
            calm.set(true);
            Ok::<_, Failure>(())
        };
        let feeding = async {
            self.feeder.feed(storm.clock, self.options, &calm).await?;
            fed.set(true);
            Ok::<_, Failure>(())
        };
        let (observer, longest) = (&mut self.observer, &mut self.longest_wait);
        let observing = async {
            let (mut outputs, mut since, mut told) = (0, storm.clock.now(), storm.clock.now());
            while !fed.get() {
                // A broker that is away is looked at again.
                let looked = observer.look().await;
                let now = storm.clock.now();
                if observer.model.outputs > outputs {
                    let waited = now.saturating_sub(since);
                    if waited > LONG {
                        eprintln!("         nothing came out for {} s", waited.as_secs());
                    }
                    *longest = (*longest).max(waited);
                    (outputs, since) = (observer.model.outputs, now);
                }
                if now > told + TELL {
                    told = now;
                    tell(now.saturating_sub(storm.begun), observer, &storm.deeds.borrow());
                    if let Err(error) = looked {
                        eprintln!("         the observer waits: {error}");
                    }
                }
                storm.pause(LOOK).await;
            }
            Ok(())
        };
        tokio::try_join!(harm, feeding, observing).map(|_| ())
    }

    /// No more harm and no more records: all that came in comes out, and all processes stop in good order.
    async fn settle(&mut self, storm: &Storm<'_>) -> Result<(), Failure> {
        let mut seen = (0, false);
        let mut since = self.clock.now();
        loop {
            let lives = self.processes.iter_mut().map(|process| storm.live(process, LOOK));
            try_join_all(lives).await?;
            let looked = self.observer.look().await;
            let model = &self.observer.model;
            let members = match self.cluster.admin()?.group_members(APP.to_owned()).await {
                Ok(members) => members.len(),
                Err(_) => 0,
            };
            let done = model.inputs == self.feeder.written && model.missing() == 0;
            if looked.is_ok() && done && members >= self.options.processes {
                break;
            }
            // Members that come and go are no progress.
            if (model.outputs, done) != seen {
                seen = (model.outputs, done);
                since = self.clock.now();
            }
            if self.clock.now() > since + self.options.patience {
                let what = format!(
                    "stuck: {} of {} records have not come out, the group has {members} members ({looked:?})",
                    model.missing(),
                    self.feeder.written
                );
                stuck::tell(&self.cluster, &self.processes).await;
                self.observer.model.violations.add(|| what);
                break;
            }
        }
        let stops = self.processes.iter_mut().map(|process| storm.stop(process));
        let well = try_join_all(stops).await?;
        if well.contains(&false) {
            self.observer
                .model
                .violations
                .add(|| "a last stop, which nothing disturbed, has failed".to_owned());
        }
        Ok(())
    }

    /// Compares everything with what came in.
    async fn compare(&mut self) -> Result<verify::Compared, Failure> {
        self.observer.look().await?;
        self.observer.end();
        let model = &mut self.observer.model;
        let unlogged = model.unlogged();
        if unlogged > 0 {
            model
                .violations
                .add(|| format!("the changelog has old values of {unlogged} keys"));
        }
        // Whoever reads it all again sees what was seen while it was made.
        let mut again = Observer::new(&self.cluster, self.options)?;
        again.look().await?;
        if again.digests != self.observer.digests {
            let what = "what was read at the end is not what was read before".to_owned();
            self.observer.model.violations.add(|| what);
        }
        verify::committed(&self.cluster, &mut self.observer).await?;
        let states = verify::states(&self.processes, self.options)?;
        Ok(verify::compare(&states, &mut self.observer, self.options))
    }

    /// All states are lost, and one process restores all of them.
    async fn restore_all(&mut self, storm: &Storm<'_>) -> Result<verify::Compared, Failure> {
        for process in &self.processes {
            process.wipe()?;
        }
        let outputs = self.observer.model.outputs;
        let only = &mut self.processes[..1];
        only[0].start()?;
        let patience = self.clock.now() + self.options.patience;
        let before = restores::read(only).restores.len();
        loop {
            storm.live(&mut only[0], LOOK).await?;
            if restores::read(only).restores.len() >= before + self.options.partitions as usize {
                break;
            }
            if self.clock.now() > patience {
                let what = "stuck: the last restore does not come to its end".to_owned();
                self.observer.model.violations.add(|| what);
                stuck::tell(&self.cluster, only).await;
                break;
            }
        }
        storm.stop(&mut only[0]).await?;
        self.observer.look().await?;
        if self.observer.model.outputs != outputs {
            let what = "a restore has made outputs".to_owned();
            self.observer.model.violations.add(|| what);
        }
        let states = verify::states(&self.processes, self.options)?;
        Ok(verify::compare(&states, &mut self.observer, self.options))
    }
}

fn tell(at: Duration, observer: &Observer, deeds: &Deeds) {
    let model = &observer.model;
    eprintln!(
        "{:>5} s: {} in, {} out, {} kills and pauses, broker {} times, {} violations",
        at.as_secs(),
        model.inputs,
        model.outputs,
        deeds.harm(),
        deeds.broker_harm(),
        model.violations.number
    );
}

/// Removes what a run has left, if nobody wants to look at it.
pub(crate) fn clean_up(directory: &Path) {
    let _ = fs::remove_dir_all(directory);
}
