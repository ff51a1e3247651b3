//! How the driver's application starts, stops, crashes and fails.

use std::{collections::BTreeSet, fs, sync::Arc, time::Duration};

use super::{
    DriverError, TestDriver, TestDriverBuilder,
    client::Client,
    exec::{Crew, Executor},
    instance::Instance,
    stage::{Stage, StillWaiting},
};
use crate::{
    App,
    app::plan,
    cluster::{
        NewTopic,
        embedded::{EmbeddedCluster, EmbeddedOptions},
    },
    engine::FiredLog,
    runtime::{Lent, RunError, RunState},
    topology::Topology,
};

/// Tasks of different workers are interleaved differently from those of one.
const WORKERS: usize = 2;

impl TestDriverBuilder {
    /// Makes the cluster and its topics, and starts the application.
    pub fn start(self) -> Result<TestDriver, DriverError> {
        let topology = topology(&self.app)?;
        let executor = Executor::new(self.seed)
            .without_delays()
            .with_wall(self.wall_time);
        let options = EmbeddedOptions {
            auto_create: Some(self.partitions.usual),
            // Records of long ago are what tests send.
            clean_interval: None,
        };
        let cluster = EmbeddedCluster::new(Arc::new(executor.clock().clone()), options);
        let mut driver = TestDriver {
            lent: Vec::new(),
            instance: None,
            stage: Stage::new(executor, self.patience).map_err(DriverError::System)?,
            instances: 0,
            client: Client::connect(&cluster)?,
            cluster,
            topology,
            app: self.app,
            partitions: self.partitions,
            fired: FiredLog::default(),
            timestamp: None,
            told: false,
            state_dir: tempfile::tempdir().map_err(DriverError::System)?,
        };
        driver.make_topics()?;
        driver.start()?;
        Ok(driver)
    }
}

impl TestDriver {
    /// Makes the topics that the application names, and those that the test has named.
    fn make_topics(&mut self) -> Result<(), DriverError> {
        let declared = self.topology.declared_topics().into_keys();
        let names: BTreeSet<Arc<str>> = declared.chain(self.partitions.special.keys().cloned()).collect();
        let new = |name: &Arc<str>| NewTopic {
            name: self.topology.bound(name),
            partitions: self.partitions.of(name),
            config: Vec::new(),
        };
        let topics = names.iter().map(new).collect();
        self.client.create_missing(&mut self.stage.executor, topics)
    }

    /// Makes the changelogs that an application which has run before is expected to have.
    fn make_changelogs(&mut self) -> Result<(), DriverError> {
        let mut topics = Vec::new();
        for (name, input) in changelogs(&self.topology) {
            let partitions = self.client.partitions(&mut self.stage.executor, &input)?;
            topics.push(NewTopic {
                name,
                partitions: partitions.unwrap_or(1),
                config: vec![("cleanup.policy".to_owned(), "compact".to_owned())],
            });
        }
        self.client.create_missing(&mut self.stage.executor, topics)
    }

    /// Commits what was done, as happens anyway when the commit interval has passed.
    pub fn commit(&mut self) -> Result<(), DriverError> {
        self.settle()?;
        if let Some(instance) = &self.instance {
            instance.commit();
        }
        self.settle()
    }

    /// Stops the application in good order: everything is committed. Records that are sent meanwhile wait.
    pub fn stop(&mut self) -> Result<(), DriverError> {
        let told = self.told;
        // What it fails with, stopping tells as well.
        drop(self.settle());
        let Some(instance) = self.instance.take() else {
            return Ok(());
        };
        match instance.stop(&mut self.stage) {
            // A failure that was told already does not make the stop fail.
            Err(error) if !told => Err(DriverError::Failed(error)),
            _ => Ok(()),
        }
    }

    /// Starts the application again, if it is stopped: where it was.
    pub fn start(&mut self) -> Result<(), DriverError> {
        if self.instance.is_some() {
            return self.settle();
        }
        let mut plan = plan(
            self.topology.clone(),
            self.app.factories.as_slice().into(),
            &self.app.settings,
            self.state_dir.path().to_owned(),
        );
        // The number of processor cores must not decide what happens.
        plan.settings.threads = WORKERS;
        // Nothing but a crash ends a session here, and then nobody shall have to wait.
        plan.settings.session_timeout = Duration::ZERO;
        plan.settings.store.temporary = true;
        plan.settings.task.fired = Some(self.fired.clone());
        self.told = false;
        self.instances += 1;
        let instance = Instance::start(&self.stage.executor, &self.cluster, plan, Crew(self.instances));
        let instance = self.instance.insert(instance.map_err(DriverError::Failed)?);
        match instance.settle_in(&mut self.stage) {
            Ok(()) => self.settle(),
            Err(StillWaiting(patience)) => Err(DriverError::Waiting(patience)),
        }
    }

    /// Starts another version of the application, on the same cluster and the same state; before, the changelogs
    /// of new stores are made, as whoever deploys it has to.
    pub fn start_as(&mut self, app: App) -> Result<(), DriverError> {
        self.stop()?;
        self.topology = topology(&app)?;
        self.app = app;
        self.make_topics()?;
        self.make_changelogs()?;
        self.start()
    }

    /// Stops the application in good order and starts it again: stores survive, plain fields are new.
    pub fn restart(&mut self) -> Result<(), DriverError> {
        self.stop()?;
        self.start()
    }

    /// Ends the application as `kill -9` does, and starts it again: it falls back to its last commit.
    pub fn crash(&mut self) -> Result<(), DriverError> {
        // What fails here fails again after the crash, or never happened.
        drop(self.settle());
        if let Some(instance) = self.instance.take() {
            instance.crash(&mut self.stage.executor);
        }
        self.start()
    }

    /// Removes the state directory of a stopped application, as when it moves to another machine: its stores come
    /// back from their changelogs.
    pub fn wipe_state(&mut self) -> Result<(), DriverError> {
        if self.instance.is_some() {
            return Err(DriverError::Running);
        }
        let root = self.state_dir.path();
        let wipe = || -> std::io::Result<()> {
            for entry in fs::read_dir(root)? {
                fs::remove_dir_all(entry?.path())?;
            }
            Ok(())
        };
        wipe().map_err(DriverError::System)
    }

    /// Runs the application until nothing more can happen at the present time.
    pub(super) fn settle(&mut self) -> Result<(), DriverError> {
        for Lent { task, home, .. } in self.lent.drain(..) {
            // A worker that has ended meanwhile needs it no more.
            drop(home.send(task));
        }
        self.run(Duration::ZERO)
    }

    /// Runs everything that happens in the next `by` of virtual time.
    pub(super) fn run(&mut self, by: Duration) -> Result<(), DriverError> {
        let instance = self.instance.as_ref();
        let ran = self.stage.run(by, || instance.is_some_and(Instance::waits));
        self.check()?;
        ran.map_err(|StillWaiting(patience)| DriverError::Waiting(patience))
    }

    /// Whether the application has failed.
    pub(super) fn check(&mut self) -> Result<(), DriverError> {
        let Some(status) = self.status() else {
            return Ok(());
        };
        let failure = match (status.failure, status.state) {
            (Some(failure), _) => failure,
            (None, RunState::Stopping | RunState::Stopped) => RunError::Stopped,
            (None, _) => return Ok(()),
        };
        self.told = true;
        Err(DriverError::Failed(failure))
    }
}

fn topology(app: &App) -> Result<Arc<Topology>, DriverError> {
    let topology = app.topology(&app.settings);
    topology.map(Arc::new).map_err(DriverError::Failed)
}

/// The changelogs of an application, each with an input of its processor.
fn changelogs(topology: &Topology) -> impl Iterator<Item = (Arc<str>, Arc<str>)> {
    topology.logged_stores().filter_map(|(processor, store)| {
        let input = topology.processors[processor].inputs.first()?;
        Some((
            topology.changelog(processor, store),
            topology.bound(&input.topic.name),
        ))
    })
}
