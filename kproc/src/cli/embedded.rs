//! `run --embedded`: a cluster inside this process, fed first, then worked on until all is processed.

use std::{fs, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use tokio::{select, time};

use super::{
    args::RunArgs,
    dump::Dump,
    failure::Failure,
    input::{self, FeedJob},
    names,
    progress::Progress,
    signal::Interrupted,
};
use crate::{
    app::{App, Results, plan},
    clock::{Clock, SystemClock},
    cluster::{
        Cluster,
        embedded::{EmbeddedCluster, EmbeddedOptions, RealDriver},
    },
    config::Settings,
    lag::Lag,
    runtime::{self, Plan, Spawner, Threads},
    topology::Topology,
};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(200);

/// What is said when somebody stops it.
const STOPPED: &str = "stopped before all input was processed";

/// Runs until all input is processed.
pub(crate) fn run(mut app: App, settings: &Settings, args: &RunArgs) -> Result<(), Failure> {
    let topology = Arc::new(names::topology(&app, settings)?);
    let demo = app.demo.take();
    let (demo_feed, summary) = demo.map(|demo| (demo.feed, demo.summary)).unzip();
    // What can be refused is refused here, before anything is read or made.
    let feed = input::job(demo_feed, &topology.declared_topics(), &args.feed)?;
    if feed.is_none() {
        tracing::warn!("nothing is fed, so there is nothing to process: give input with `--feed TOPIC=FILE`");
    }
    let dumps = Dump::open_all(&topology, args)?;
    let old_state = state_of_before(settings, &topology);
    let to_stdout = dumps.iter().any(Dump::is_stdout);

    let temporary;
    let state_dir = if let Some(directory) = &settings.state_dir {
        directory.clone()
    } else {
        temporary = tempfile::tempdir()
            .map_err(|error| Failure::run(format!("cannot make a temporary directory for state: {error}")))?;
        temporary.path().to_owned()
    };
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let executor = executor.map_err(|error| Failure::run(format!("cannot start: {error}")))?;
    executor.block_on(async {
        let mut plan = plan(topology, app.factories.into(), settings, state_dir);
        // State that is gone at the end need not reach the disk.
        plan.settings.store.temporary = settings.state_dir.is_none();
        let mut session = Session::new(plan, settings.partitions, args.quiet)?;
        let postponed = session.feed(feed).await?;
        let results = session.work().await;
        let results = results.map_err(|failure| match &old_state {
            Some(directory) => failure.and(format_args!(
                "{} has state of an earlier run, and the embedded cluster, with topics and changelogs, is new in \
                 each run: remove that directory, or name another with `--state-dir`",
                directory.display()
            )),
            None => failure,
        })?;
        names::warn_of_unused(settings, &session.plan.topology);
        // One that cannot be written is no reason to leave out the others.
        let mut failed = postponed;
        for dump in dumps {
            if let Err(failure) = dump.write(&*session.cluster, &session.plan).await {
                failed = Some(match failed {
                    Some(first) => first.and(failure),
                    None => failure,
                });
            }
        }
        if let Some(summary) = summary.flatten() {
            let text = summary(&results)
                .await
                .map_err(|error| Failure::run(format!("the summary: {error}")))?;
            super::output::print(&text, to_stdout)?;
        }
        failed.map_or(Ok(()), Err)
    })
}

/// The directory of the application's state, if there is something in it.
fn state_of_before(settings: &Settings, topology: &Topology) -> Option<PathBuf> {
    let directory = settings.state_dir.as_ref()?.join(&*topology.app);
    let filled = fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
    filled.then_some(directory)
}

/// A cluster, and an application on it.
struct Session {
    cluster: Arc<dyn Cluster>,
    clock: Arc<SystemClock>,
    plan: Plan,
    partitions: u32,
    quiet: bool,
    interrupted: Interrupted,
}

impl Session {
    fn new(plan: Plan, partitions: u32, quiet: bool) -> Result<Self, Failure> {
        let clock = Arc::new(SystemClock::new());
        let driver = RealDriver::new(clock.clone())
            .map_err(|error| Failure::run(format!("cannot start a thread: {error}")))?;
        let options = EmbeddedOptions {
            auto_create: Some(partitions),
            ..EmbeddedOptions::default()
        };
        let interrupted = Interrupted::watch();
        Ok(Self {
            cluster: EmbeddedCluster::new(driver, options).connect(),
            clock,
            plan,
            partitions,
            quiet,
            interrupted: interrupted
                .map_err(|error| Failure::run(format!("cannot watch signals: {error}")))?,
        })
    }

    /// Makes the topics, and writes to them what `job` feeds.
    async fn feed(&mut self, job: Option<FeedJob>) -> Result<Option<Failure>, Failure> {
        let (cluster, topology) = (&*self.cluster, self.plan.topology.clone());
        let mut progress = Progress::new("feeding", self.quiet);
        let fed = input::feed(cluster, topology, self.partitions, job, &mut progress);
        select! { biased;
            number = self.interrupted.number() => Err(Failure::stopped(number, STOPPED)),
            fed = fed => Ok(fed?.postponed),
        }
    }

    /// Runs the application until all is processed, wall-clock timers have fired once more, and all that
    /// followed from that is processed as well.
    async fn work(&mut self) -> Result<Results, Failure> {
        let (clock, begin) = (self.clock.clone(), self.clock.now());
        let threads: Arc<dyn Spawner> = Arc::new(Threads);
        let running =
            runtime::start(self.plan.clone(), self.cluster.clone(), clock, &threads).map_err(Failure::run)?;
        let work = async {
            running.drained().await?;
            running.fire_wall_timers().await?;
            running.drained().await
        };
        let worked = self.until_done(work).await;
        running.shutdown(self.plan.settings.stop_deadline);
        // What it stopped for says more than that it stopped before the work was done.
        running.wait().await.map_err(Failure::run)?;
        worked?;
        let elapsed = self.clock.now().saturating_sub(begin);
        let lag = Lag::of(&self.plan.topology, &*self.cluster).await;
        let records = lag
            .map_err(|error| Failure::run(format!("cannot count records: {error}")))?
            .done();
        tracing::debug!(records, ?elapsed, "all input is processed");
        Ok(Results {
            cluster: self.cluster.clone(),
            topology: self.plan.topology.clone(),
            records,
            elapsed,
        })
    }

    /// Shows progress until `work` is done, it has failed, or somebody wants to stop.
    async fn until_done(
        &mut self,
        work: impl Future<Output = Result<(), runtime::RunError>>,
    ) -> Result<(), Failure> {
        let mut work = pin!(work);
        let mut progress = Progress::new("processing", self.quiet);
        loop {
            select! { biased;
                number = self.interrupted.number() => return Err(Failure::stopped(number, STOPPED)),
                result = &mut work => return result.map_err(Failure::run),
                () = time::sleep(TICK) => {}
            }
            // Nothing depends on it: what cannot be measured is not shown.
            if let Ok(lag) = Lag::of(&self.plan.topology, &*self.cluster).await {
                progress.set(lag.done(), lag.done() + lag.total());
            }
        }
    }
}
