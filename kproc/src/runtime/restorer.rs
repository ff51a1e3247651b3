//! Restores tasks apart from the workers, hands them over, and knows where each of them is.

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::{Mutex, Semaphore, mpsc::UnboundedReceiver, oneshot};

use super::{
    error::RunError,
    order::{RestorerOrder, WorkerHandle, WorkerOrder},
    passages,
    restore::{Restore, Whose},
    slot::{Lease, Slot, Tenure, Token},
    supervisor::Supervisor,
};
use crate::{TaskId, clock::BoxFuture};

/// More restores at a time gain nothing: they share the network and the disk.
const AT_A_TIME: usize = 16;

/// What becomes of a restore.
enum Outcome {
    Restored(Box<Slot>),
    /// Put away, because it was revoked (with the token), lost, or the instance stops.
    Abandoned(Option<Token>),
    Failed(RunError),
}

/// See the module.
pub(super) struct Restorer {
    restore: Arc<Restore>,
    orders: UnboundedReceiver<RestorerOrder>,
    workers: Vec<WorkerHandle>,
    supervisor: Supervisor,
    restoring: FuturesUnordered<BoxFuture<'static, (Tenure, Outcome)>>,
    /// How to abandon each restore.
    abandon: BTreeMap<Tenure, oneshot::Sender<Option<Token>>>,
    /// Which worker has which task.
    placed: BTreeMap<Tenure, usize>,
    leases: BTreeMap<TaskId, Arc<Mutex<()>>>,
    permits: Arc<Semaphore>,
}

impl Restorer {
    pub(super) fn new(
        restore: Restore,
        orders: UnboundedReceiver<RestorerOrder>,
        workers: Vec<WorkerHandle>,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            restore: Arc::new(restore),
            orders,
            workers,
            supervisor,
            restoring: FuturesUnordered::new(),
            abandon: BTreeMap::new(),
            placed: BTreeMap::new(),
            leases: BTreeMap::new(),
            permits: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    pub(super) async fn run(mut self) -> Result<(), RunError> {
        loop {
            tokio::select! { biased;
                order = self.orders.recv() => match order {
                    // The owner is gone, and with it the membership.
                    None => return Ok(()),
                    Some(RestorerOrder::Stop(deadline)) => {
                        self.stop(deadline).await;
                        return Ok(());
                    }
                    Some(order) => self.obey(order),
                },
                Some((tenure, outcome)) = self.restoring.next(), if !self.restoring.is_empty() => {
                    self.restored(tenure, outcome);
                }
            }
        }
    }

    fn obey(&mut self, order: RestorerOrder) {
        match order {
            RestorerOrder::Open { slot, not_before } => self.open(slot, not_before),
            RestorerOrder::Revoke(tenure, token) => {
                if let Some(abandon) = self.abandon.remove(&tenure) {
                    self.restore.clock.happens(passages::WANTED_BACK_UNRESTORED);
                    // It is there to hear it: when a restore ends, its entry is removed at once.
                    let _ = abandon.send(Some(token));
                } else if let Some(worker) = self.placed.remove(&tenure) {
                    self.workers[worker].send(WorkerOrder::Revoke(tenure, token));
                }
            }
            RestorerOrder::Lost(tenure) => {
                if let Some(abandon) = self.abandon.remove(&tenure) {
                    self.restore.clock.happens(passages::LOST_UNRESTORED);
                    let _ = abandon.send(None);
                } else if let Some(worker) = self.placed.remove(&tenure) {
                    self.workers[worker].send(WorkerOrder::Lost(tenure));
                }
            }
            RestorerOrder::Stop(_) => {}
        }
    }

    /// Begins to restore a task.
    fn open(&mut self, mut slot: Box<Slot>, not_before: Duration) {
        let tenure = slot.tenure;
        self.placed.remove(&tenure);
        let (abandon, mut abandoned) = oneshot::channel();
        self.abandon.insert(tenure, abandon);
        let lease = self.leases.entry(tenure.task).or_default().clone();
        let passage = if slot.falls == 0 {
            passages::RESTORE
        } else {
            passages::FALL_BACK
        };
        let (restore, permits) = (self.restore.clone(), self.permits.clone());
        self.restoring.push(Box::pin(async move {
            let result = {
                let work = async {
                    restore.clock.sleep_until(not_before).await;
                    if slot.lease.is_none() {
                        let lease: Lease = lease.lock_owned().await;
                        slot.lease = Some(lease);
                    }
                    let whose = {
                        let _permit = permits.acquire().await;
                        let _passage = restore.clock.passage(passage);
                        restore.run(&mut slot).await?
                    };
                    if whose == Whose::Lost {
                        pending::<()>().await;
                    }
                    Ok(())
                };
                tokio::select! { biased;
                    // A sender that is gone without a word is a restorer that is gone.
                    token = &mut abandoned => Err(token.unwrap_or(None)),
                    result = work => Ok(result),
                }
            };
            let outcome = match result {
                Ok(Ok(())) => Outcome::Restored(slot),
                Ok(Err(error)) => {
                    slot.close();
                    Outcome::Failed(error)
                }
                Err(token) => {
                    slot.close();
                    Outcome::Abandoned(token)
                }
            };
            (tenure, outcome)
        }));
    }

    fn restored(&mut self, tenure: Tenure, outcome: Outcome) {
        let wanted = self.abandon.remove(&tenure).is_some();
        match outcome {
            Outcome::Restored(slot) if wanted => {
                let worker = self.least_loaded();
                self.placed.insert(tenure, worker);
                self.restore.clock.comes_to(passages::HANDED_OVER);
                self.workers[worker].send(WorkerOrder::Take(slot));
            }
            // Abandoned in the moment when it was complete.
            Outcome::Restored(slot) => {
                slot.close();
                self.restore.board.gone(tenure);
            }
            Outcome::Abandoned(token) => {
                self.restore.board.gone(tenure);
                drop(token);
            }
            Outcome::Failed(error) => {
                self.restore.board.gone(tenure);
                self.supervisor.fail(error);
            }
        }
    }

    fn least_loaded(&self) -> usize {
        let load = |worker: &usize| self.placed.values().filter(|placed| *placed == worker).count();
        (0..self.workers.len()).min_by_key(load).unwrap_or(0)
    }

    /// Puts away what is being restored, and lets the workers stop.
    async fn stop(&mut self, deadline: Duration) {
        for worker in &self.workers {
            worker.send(WorkerOrder::Stop(deadline));
        }
        for (_, abandon) in std::mem::take(&mut self.abandon) {
            let _ = abandon.send(None);
        }
        while let Some((tenure, outcome)) = self.restoring.next().await {
            self.restored(tenure, outcome);
        }
        // What workers have handed back, and the orders that follow it. From here on they put it away themselves.
        self.orders.close();
        while let Some(order) = self.orders.recv().await {
            match order {
                RestorerOrder::Open { slot, .. } => {
                    let tenure = slot.tenure;
                    slot.close();
                    self.restore.board.gone(tenure);
                }
                // The worker is committing the task, and must not lose its partition before: it keeps the order until it
                // has ended.
                RestorerOrder::Revoke(..) => self.obey(order),
                RestorerOrder::Lost(_) | RestorerOrder::Stop(_) => {}
            }
        }
    }
}
