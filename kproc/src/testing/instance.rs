//! One instance of the application, under the driver's executor.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{
    exec::{Crew, Executor},
    sim::SimSpawner,
    stage::{Stage, StillWaiting},
};
use crate::{
    clock::Clock,
    cluster::embedded::{EmbeddedCluster, EmbeddedConnection},
    runtime::{self, Lent, Plan, RunError, RunState, Running, Spawner, Status},
};

/// An instance.
pub(super) struct Instance {
    crew: Crew,
    connection: Arc<EmbeddedConnection>,
    running: Running,
    /// How long a stop may take.
    stop_deadline: Duration,
}

impl Instance {
    pub(super) fn start(
        executor: &Executor,
        cluster: &EmbeddedCluster,
        plan: Plan,
        crew: Crew,
    ) -> Result<Self, RunError> {
        let stop_deadline = plan.settings.stop_deadline;
        let connection = cluster.connect();
        let clock = executor.clock().clone();
        let spawner: Arc<dyn Spawner> = Arc::new(SimSpawner {
            clock: clock.clone(),
            crew,
        });
        let running = runtime::start(plan, connection.clone(), Arc::new(clock), &spawner)?;
        Ok(Self {
            crew,
            connection,
            running,
            stop_deadline,
        })
    }

    pub(super) fn status(&self) -> Status {
        self.running.status()
    }

    /// Whether a handler is waiting for something, once nothing more can happen at the present time.
    pub(super) fn waits(&self) -> bool {
        // Before and after, there are no workers that could say that they are idle.
        let at_work = [RunState::Running, RunState::Restoring, RunState::Stopping];
        at_work.contains(&self.status().state) && !self.running.is_idle()
    }

    /// Lets it begin, and bring its tasks up to date.
    pub(super) fn settle_in(&self, stage: &mut Stage) -> Result<(), StillWaiting> {
        // Nothing of this takes time, unless something has to be tried again.
        let patience = stage.executor.clock().now() + Duration::from_secs(300);
        stage.run(Duration::ZERO, || self.waits())?;
        while matches!(self.status().state, RunState::Starting | RunState::Restoring)
            && stage.executor.clock().now() < patience
        {
            stage.run(Duration::from_millis(10), || self.waits())?;
        }
        Ok(())
    }

    /// Stops it in good order.
    pub(super) fn stop(self, stage: &mut Stage) -> Result<(), RunError> {
        self.running.shutdown(self.stop_deadline);
        // A handler that still waits after this is abandoned when the deadline has passed.
        drop(stage.run(Duration::ZERO, || self.waits()));
        let outcome = stage.run_until(self.running.wait());
        outcome.unwrap_or(Err(RunError::Stopped))
    }

    /// Ends it as `kill -9` does.
    pub(super) fn crash(self, executor: &mut Executor) {
        self.connection.sever();
        executor.kill(self.crew);
    }

    /// Asks for a commit of all that was done.
    pub(super) fn commit(&self) {
        self.running.commit();
    }

    /// Borrows the tasks: each arrives as soon as it rests.
    pub(super) fn lend(&self) -> UnboundedReceiver<Lent> {
        let (to, lent) = unbounded_channel();
        self.running.lend(to);
        lent
    }
}
