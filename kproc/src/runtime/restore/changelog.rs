//! Reads a changelog into its store.
//!
//! It is over when the *position* has reached the end, for the last record may be a marker or may have been compacted
//! away.

use std::{future::poll_fn, task::Poll, time::Duration};

use kproc_store::{Environment, Followed};

use super::{
    super::{
        error::{BEGIN_ANEW, RunError},
        passages,
        patience::retried,
        sabotage::Sabotage,
        slot::Changelog,
    },
    Restore, TELL_AFTER, age,
    progress::Progress,
};
use crate::{
    TaskId,
    clock::Clock,
    cluster::{ClusterError, ClusterErrorKind, Isolation, Reader},
    record::{Offset, Timestamp, TopicPartition},
};

/// So many times a changelog is read before it is said that it takes too long.
const ATTEMPTS: u32 = 3;

/// How long one read waits for records.
const READ_WAIT: Duration = Duration::from_millis(200);

/// Restores the changelogs of one environment.
pub(super) struct Changelogs<'r> {
    pub(super) restore: &'r Restore,
    pub(super) task: TaskId,
    pub(super) processor: usize,
    pub(super) environment: &'r Environment,
    /// For how long the changelog keeps deletions.
    pub(super) kept: Duration,
}

/// How far a changelog was read.
enum Read {
    /// `moved`: there was something in it that the state did not have.
    ToTheEnd { moved: bool },
    /// It may have lost deletions before they were read: why.
    TooOld(String),
}

impl Changelogs<'_> {
    /// Reads a changelog to its present end. Whether there was anything in it that the state did not have.
    pub(super) async fn restore(
        &mut self,
        changelog: &mut Changelog,
        progress: &mut Progress<'_>,
    ) -> Result<bool, RunError> {
        let mut anew = false;
        for _ in 0..ATTEMPTS {
            match self.read(changelog, progress).await? {
                Read::ToTheEnd { moved } => return Ok(anew || moved),
                Read::TooOld(reason) => {
                    anew = true;
                    tracing::warn!(
                        task = %self.task, store = self.store(changelog), changelog = %changelog.partition, reason,
                        "the store is emptied, and restored from the beginning of its changelog"
                    );
                    self.empty(changelog)?;
                }
            }
        }
        Err(self.failed(takes_too_long(&changelog.partition, self.kept)))
    }

    /// The same, if it does not take longer than deletions are kept.
    async fn read(
        &mut self,
        changelog: &mut Changelog,
        progress: &mut Progress<'_>,
    ) -> Result<Read, RunError> {
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
        // Before the end is asked for: whatever is in it by now is read.
        let age = Age {
            begun: clock.now(),
            followed: Followed {
                until: clock.wall(),
                kept: self.kept,
            },
        };
        let (mut at, end) = self.begin(changelog, &mut *reader, &age).await?;
        if self.is_news(end.since(at), 0)
            && let Some(reason) = self.objection(changelog, &age)?
        {
            return Ok(Read::TooOld(reason));
        }
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
                    let (from, _) = self.begin(changelog, &mut *reader, &age).await?;
                    if from <= at {
                        return Err(RunError::cluster(
                            format!("cannot restore from {}", changelog.partition),
                            &error,
                        ));
                    }
                    at = from;
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
            if self.is_news(passed, replayed)
                && let Some(reason) = self.objection(changelog, &age)?
            {
                progress.give_up(end.since(at));
                return Ok(Read::TooOld(reason));
            }
            self.apply(changelog, &mut read.batch, done)?;
            at = read.next;
            progress.pass(passed, replayed);
            clock.point(passages::BATCH_RESTORED).await;
            // Records that are there already are no reason to wait: other restores and orders get their turn.
            yield_now().await;
        }
        self.follow(changelog, at, &age)?;
        Ok(Read::ToTheEnd { moved })
    }

    /// Whether so many places, with so many records, are more than the marker of the transaction that the state is of.
    fn is_news(&self, places: u64, records: u64) -> bool {
        let marker = places == 1 && records == 0 && self.restore.plan.settings.transactions.is_some();
        places > 0 && !marker
    }

    /// Why the store may have missed a deletion, if anything was in its changelog that it does not have.
    fn objection(&self, changelog: &Changelog, age: &Age) -> Result<Option<String>, RunError> {
        if self.restore.plan.has(Sabotage::AgeIgnored) {
            return Ok(None);
        }
        let followed = self.environment.followed(changelog.store);
        let followed = followed.map_err(|error| self.failed(error.to_string()))?;
        let now = age.now(&*self.restore.clock);
        Ok(age::objection(followed, self.kept, now))
    }

    /// Notes that the store is at this place, and has all that was in the changelog when it was looked at.
    fn follow(&self, changelog: &mut Changelog, next: Offset, age: &Age) -> Result<(), RunError> {
        let noted = self.environment.follow(changelog.store, next, age.followed);
        noted.map_err(|error| self.failed(error.to_string()))?;
        changelog.next = Some(next);
        Ok(())
    }

    /// Empties the store: it begins with nothing.
    fn empty(&self, changelog: &mut Changelog) -> Result<(), RunError> {
        let emptied = self.environment.clear(changelog.store);
        emptied.map_err(|error| self.failed(error.to_string()))?;
        changelog.next = None;
        Ok(())
    }

    fn failed(&self, reason: String) -> RunError {
        self.restore.state(self.task, self.processor, reason)
    }

    /// The store's name.
    fn store(&self, changelog: &Changelog) -> &str {
        let (store, _) = &self.restore.plan.topology.processors[self.processor].stores[changelog.store];
        &store.name
    }

    /// Where to begin and where to end.
    async fn begin(
        &mut self,
        changelog: &mut Changelog,
        reader: &mut dyn Reader,
        age: &Age,
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
        let store = self.store(changelog).to_owned();
        match changelog.next {
            None => {
                // A restore that never saved a batch may still have left something.
                self.follow(changelog, ends.earliest, age)?;
                Ok((ends.earliest, ends.latest))
            }
            Some(next) if next < ends.earliest => {
                tracing::warn!(
                    task = %self.task, %store, changelog = %changelog.partition, position = %next, start = %ends.earliest,
                    "the changelog no longer goes back to where the store is: the store is emptied and rebuilt"
                );
                self.empty(changelog)?;
                self.follow(changelog, ends.earliest, age)?;
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

/// Since when a changelog is read, and for which time the store is up to date when all of it is.
struct Age {
    begun: Duration,
    followed: Followed,
}

impl Age {
    /// Wall time. It goes on also if the clock is set back meanwhile.
    fn now(&self, clock: &dyn Clock) -> Timestamp {
        let passed = clock.now().saturating_sub(self.begun);
        clock.wall().max(self.followed.until.saturating_add(passed))
    }
}

#[cold]
fn takes_too_long(changelog: &TopicPartition, kept: Duration) -> String {
    format!(
        "{ATTEMPTS} times in a row, reading {changelog} has taken longer than it keeps deletions ({}), so that some may be \
         missing. Set its `delete.retention.ms` to more, a day at least (with `{}`), and start again",
        age::words(kept),
        age::command(&changelog.topic)
    )
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
