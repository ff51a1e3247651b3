//! After a turn has failed: undo it, and do what the policy says.

use std::time::Duration;

use kproc_store::StoreError;

use super::{
    Failure, Next, Phase, Retrying, Task,
    stretch::{Broken, What},
};
use crate::{
    error::{Error, ErrorKind},
    policy::Policy,
    processor::TimerSpec,
    timer::Timer,
};

/// What a policy has come to for one failure.
enum Verdict {
    Stop,
    Skip,
    /// For the time with this number.
    Again(u32, Duration),
}

/// The declared timer that this is, if it is one.
fn declared(timers: &[TimerSpec], what: What) -> Option<Box<TimerSpec>> {
    let What::Timer(firing) = what else { return None };
    let Timer::Every(number) = firing.timer else {
        return None;
    };
    let timer = timers.iter().find(|timer| timer.number == number)?;
    Some(Box::new(*timer))
}

impl Task {
    /// Undoes the turn. `Ok`: the task can go on; it may have to wait first.
    #[cold]
    pub(super) fn recover(&mut self, broken: Broken) -> Result<(), Failure> {
        let Broken {
            unit,
            what,
            error,
            before,
        } = broken;
        let guard = self.undo(unit);
        before.restore(&mut self.work);
        let error = error.or_else(|| guard.map(Error::from));
        let error = error.unwrap_or_else(|| Error::msg("a store could not write a value back"));
        let processor = &self.topology.processors[self.processors[unit]];
        let policy = self.policy(what, error.kind());
        let failure = Failure {
            processor: processor.name.clone(),
            phase: what.phase(unit, &self.inputs, self.work.task.partition),
            timer: declared(&processor.timers, what),
            setting: policy.map(|(setting, _)| setting),
            error,
            next: Next::Stop,
        };
        match self.verdict(policy.map(|(_, policy)| policy), &failure) {
            Verdict::Stop => {
                self.plan.put_back(unit, what);
                Err(failure)
            }
            Verdict::Skip => self.skip(what, failure),
            Verdict::Again(attempt, wait) => self.try_again(unit, what, failure, attempt, wait),
        }
    }

    /// Takes back what all units have stored in the turn, and what a guard of this one could not store.
    fn undo(&mut self, unit: usize) -> Option<StoreError> {
        let mut failure = None;
        for (number, each) in self.units.iter_mut().enumerate() {
            each.stores(&mut |_, store| {
                if let Some(buffer) = store.buffer() {
                    let its = buffer.take_failure();
                    if number == unit {
                        failure = failure.take().or(its);
                    }
                    buffer.undo();
                }
            });
        }
        self.marks.clear_failure();
        failure
    }

    /// The policy that decides about such a failure, and its setting's name; `None`: nothing helps.
    fn policy(&self, what: What, kind: ErrorKind) -> Option<(&'static str, &Policy)> {
        if matches!(what, What::Start | What::Stop | What::NoTimestamp(_)) {
            return None;
        }
        let policies = &self.settings.policies;
        Some(match kind {
            ErrorKind::Deserialization => ("on_deserialization_error", &policies.deserialization),
            ErrorKind::Panic => ("on_panic", &policies.panic),
            ErrorKind::Processing => ("on_processing_error", &policies.processing),
        })
    }

    fn verdict(&self, policy: Option<&Policy>, failure: &Failure) -> Verdict {
        match policy {
            None | Some(Policy::Stop) => Verdict::Stop,
            Some(Policy::Skip) => Verdict::Skip,
            Some(Policy::Retry(retry)) => {
                let mut all = self.carry.retrying.iter();
                let before = all.find(|retrying| retrying.phase == failure.phase);
                let attempt = before.map_or(1, |retrying| retrying.attempt.saturating_add(1));
                match attempt {
                    _ if attempt <= retry.attempts => Verdict::Again(attempt, retry.wait(attempt)),
                    _ if retry.then_skip => Verdict::Skip,
                    _ => Verdict::Stop,
                }
            }
        }
    }

    fn skip(&mut self, what: What, failure: Failure) -> Result<(), Failure> {
        self.carry.worked(&failure.phase);
        let Failure { processor, error, .. } = &failure;
        if let Phase::Record(at, offset) = &failure.phase {
            let (partition, offset) = (at.partition.get(), offset.get());
            tracing::warn!(
                %processor, topic = %at.topic, partition, offset, %error,
                "record skipped: it could not be processed"
            );
        } else {
            let phase = failure.doing();
            tracing::warn!(%processor, %phase, %error, "failure skipped");
        }
        if failure.kind() == ErrorKind::Panic {
            if let Phase::Record(at, offset) = &failure.phase {
                self.carry.skipped.insert((at.topic.clone(), *offset));
            } else {
                // That it is not owed any more is to be committed.
                self.touched = true;
            }
            return Err(Failure {
                next: Next::FallBack,
                ..failure
            });
        }
        if let What::Record(input) = what {
            self.plan.input = None;
            self.inputs.done(input);
            self.counters.skipped += 1;
        }
        self.touched = true;
        Ok(())
    }

    fn try_again(
        &mut self,
        unit: usize,
        what: What,
        failure: Failure,
        attempt: u32,
        wait: Duration,
    ) -> Result<(), Failure> {
        let Failure {
            processor,
            phase,
            error,
            ..
        } = &failure;
        if let Phase::Record(at, offset) = phase {
            let (partition, offset) = (at.partition.get(), offset.get());
            tracing::warn!(
                %processor, topic = %at.topic, partition, offset, %error, attempt, ?wait,
                "record failed, to be tried again"
            );
        } else {
            let phase = failure.doing();
            tracing::warn!(%processor, %phase, %error, attempt, ?wait, "failed, to be tried again");
        }
        self.counters.retried += 1;
        self.carry.worked(phase);
        self.carry.retrying.push(Retrying {
            phase: phase.clone(),
            attempt,
            due: self.now.saturating_add(wait),
        });
        self.plan.put_back(unit, what);
        if failure.kind() == ErrorKind::Panic {
            return Err(Failure {
                next: Next::FallBack,
                ..failure
            });
        }
        Ok(())
    }
}
