//! Reads a changelog into its store.
//!
//! It is over when the *position* has reached the end, for the last record may be a marker or may have been compacted
//! away.

use std::{future::poll_fn, task::Poll, time::Duration};

use kproc_store::Environment;

use super::{
    super::{
        error::{BEGIN_ANEW, RunError},
        patience::retried,
        sabotage::Sabotage,
        slot::Changelog,
    },
    Restore, TELL_AFTER,
    progress::Progress,
};
use crate::{
    TaskId,
    cluster::{ClusterError, ClusterErrorKind, Isolation, Reader},
    record::Offset,
};

/// How long one read waits for records.
const READ_WAIT: Duration = Duration::from_millis(200);

/// Restores the changelogs of one environment.
pub(super) struct Changelogs<'r> {
    pub(super) restore: &'r Restore,
    pub(super) task: TaskId,
    pub(super) processor: usize,
    pub(super) environment: &'r Environment,
}

impl Changelogs<'_> {
    /// Reads a changelog to its present end. Whether there was anything in it that the state did not have.
    pub(super) async fn restore(
        &mut self,
        changelog: &mut Changelog,
        progress: &mut Progress<'_>,
    ) -> Result<bool, RunError> {
        let Restore {
            cluster: connection,
            clock,
            plan,
            ..
        } = self.restore;
        let failed = |error: &ClusterError| {
            RunError::cluster(format!("cannot restore from {}", changelog.partition), error)
        };
        let isolation = if plan.has(Sabotage::UncommittedRestored) {
            Isolation::ReadUncommitted
        } else {
            Isolation::ReadCommitted
        };
        let mut reader = connection.reader(isolation).map_err(|error| failed(&error))?;
        let patience = plan.settings.patience_with_transactions();
        let mut from = self.begin(changelog, &mut *reader).await?;
        let (mut at, end) = from;
        progress.expect(end.since(at));
        let mut moved = false;
        let mut heard = clock.now();
        let mut told = false;
        while at < end {
            let read = reader
                .read(
                    changelog.partition.clone(),
                    at,
                    plan.settings.restore_batch,
                    READ_WAIT,
                )
                .await;
            let mut read = match read {
                Ok(read) => read,
                Err(error) if error.kind == ClusterErrorKind::OffsetOutOfRange => {
                    // The log's start has passed us by.
                    from = self.begin(changelog, &mut *reader).await?;
                    if from.0 <= at {
                        return Err(RunError::cluster(
                            format!("cannot restore from {}", changelog.partition),
                            &error,
                        ));
                    }
                    at = from.0;
                    continue;
                }
                Err(error) if error.kind.is_transient() && clock.now() < heard + patience => {
                    clock.sleep_until(clock.now() + READ_WAIT).await;
                    continue;
                }
                Err(error) => {
                    return Err(RunError::cluster(
                        format!("cannot restore from {}", changelog.partition),
                        &error,
                    ));
                }
            };
            if read.next == at {
                if clock.now() >= heard + patience {
                    return Err(RunError::Cluster {
                        what: format!("cannot restore from {}", changelog.partition),
                        reason: format!(
                            "nothing came for {}; position {at}, end {end}. Is there a transaction that never ends?",
                            humantime::format_duration(patience)
                        ),
                    });
                }
                if !told && clock.now() >= heard + TELL_AFTER {
                    told = true;
                    tracing::warn!(
                        task = %self.task, changelog = %changelog.partition, position = %at, %end,
                        "the restore waits for a transaction that is not decided: an instance has died in the middle of it, or \
                         is frozen; brokers end it by its time-out, if its owner does not"
                    );
                }
                continue;
            }
            heard = clock.now();
            let passed = read.next.since(at);
            // What is passed over at the end of a log is the last transaction's marker, and no more than one.
            let replayed = read.batch.remaining() as u64;
            moved |= replayed > 0 || passed > 1;
            let done = if plan.has(Sabotage::RestoreSaysDone) {
                end
            } else {
                read.next
            };
            self.apply(changelog, &mut read.batch, done)?;
            at = read.next;
            progress.pass(passed, replayed);
            clock.point("between two batches of a restore").await;
            // Records that are there already are no reason to wait: other restores and orders get their turn.
            yield_now().await;
        }
        Ok(moved)
    }

    /// Where to begin and where to end.
    async fn begin(
        &mut self,
        changelog: &mut Changelog,
        reader: &mut dyn Reader,
    ) -> Result<(Offset, Offset), RunError> {
        let reader = tokio::sync::Mutex::new(reader);
        let mut ends = retried(
            &*self.restore.clock,
            self.restore.plan.settings.patience,
            || async { reader.lock().await.watermarks(changelog.partition.clone()).await },
        )
        .await
        .map_err(|error| {
            RunError::cluster(format!("cannot find the ends of {}", changelog.partition), &error)
        })?;
        if self.restore.plan.has(Sabotage::RestoreEndsEarly) {
            ends.latest = ends.stable;
        }
        let store = &self.restore.plan.topology.processors[self.processor].stores[changelog.store]
            .0
            .name;
        match changelog.next {
            None => {
                // A restore that never saved a batch may still have left something.
                changelog.next = Some(ends.earliest);
                Ok((ends.earliest, ends.latest))
            }
            Some(next) if next < ends.earliest => {
                tracing::warn!(
                    task = %self.task, %store, changelog = %changelog.partition, position = %next, start = %ends.earliest,
                    "the changelog no longer goes back to where the store is: the store is emptied and rebuilt"
                );
                self.environment
                    .clear(changelog.store)
                    .map_err(|error| self.restore.state(self.task, self.processor, error.to_string()))?;
                changelog.next = Some(ends.earliest);
                Ok((ends.earliest, ends.latest))
            }
            Some(next) if next > ends.latest => Err(self.restore.state(
                self.task,
                self.processor,
                format!(
                    "store `{store}` is at offset {next} of its changelog {}, which ends at {}: the topic was deleted, or \
                     made again, or has lost records. To go on with what the changelog still has, remove {}; or else \
                     {BEGIN_ANEW}",
                    changelog.partition,
                    ends.latest,
                    self.restore.directory(self.processor, self.task).display()
                ),
            )),
            Some(next) => Ok((next, ends.latest)),
        }
    }

    fn apply(
        &mut self,
        changelog: &mut Changelog,
        batch: &mut crate::Batch,
        next: Offset,
    ) -> Result<(), RunError> {
        let keep = self.restore.plan.has(Sabotage::DeletionsForgotten);
        let mut rows = Vec::with_capacity(batch.remaining());
        // Records borrow the batch, so it is walked with a cursor of its own.
        batch.each(|key, value| match key {
            Some(_) if value.is_none() && keep => {}
            Some(key) => rows.push((key, value)),
            None => {
                tracing::warn!(changelog = %changelog.partition, "a record without a key was passed over");
            }
        });
        self.environment
            .restore(changelog.store, &mut rows.into_iter(), next)
            .map_err(|error| self.restore.state(self.task, self.processor, error.to_string()))?;
        changelog.next = Some(next);
        Ok(())
    }
}

/// Lets others on the same thread go on.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
