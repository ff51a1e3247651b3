//! Tasks leave a worker: wanted back, lost, or because the instance stops.
//!
//! They come to rest, `#[on_stop]` runs, everything is committed, the environments are closed, and only then is a
//! revocation released. A lost task is closed without any of that.

use std::time::Duration;

use super::{
    order::RestorerOrder,
    passages,
    sabotage::Sabotage,
    seat::{Activity, Fate, Seat},
    slot::{Slot, Tenure, Token},
    worker::Worker,
};

impl Worker {
    /// Waits until these tasks are at rest; drops those that are not by then. The others go on.
    async fn rest(&mut self, tasks: &[Tenure], deadline: Duration) {
        for tenure in tasks {
            if let Some(seat) = self.seats.get(tenure) {
                seat.rest.ask();
            }
        }
        loop {
            for rested in self.away.take_rested() {
                self.comes_to_rest(rested).await;
            }
            let away = |tenure: &&Tenure| self.seats.get(tenure).is_some_and(|seat| !seat.at_rest());
            if !tasks.iter().any(|tenure| away(&tenure)) {
                return;
            }
            tokio::select! { biased;
                () = self.away.rest() => {}
                () = self.clock.sleep_until(deadline) => {
                    for tenure in tasks {
                        self.drop_activation(*tenure);
                    }
                }
            }
        }
    }

    fn drop_activation(&mut self, tenure: Tenure) {
        if let Some(abort) = self.seats.get(&tenure).and_then(|seat| seat.activation.as_ref()) {
            abort.abort();
        }
    }

    /// Finishes, commits and closes tasks.
    pub(super) async fn close(&mut self, tasks: Vec<Tenure>, deadline: Duration) {
        // A part of the time is for what comes after the handlers.
        let now = self.clock.now();
        let handlers = now + deadline.saturating_sub(now).mul_f64(0.7);
        self.rest(&tasks, handlers).await;
        let mut stopping = Vec::new();
        for &tenure in &tasks {
            let Some(seat) = self.seats.get(&tenure) else {
                continue;
            };
            if seat.slot.task.is_none() {
                self.supervisor
                    .late(&format!("a handler of task {} was still waiting", tenure.task));
            } else if seat.started && seat.fate == Fate::GoesOn {
                self.activate(tenure, Activity::Stop);
                stopping.push(tenure);
            }
        }
        self.rest(&tasks, handlers).await;
        for tenure in stopping {
            if self
                .seats
                .get(&tenure)
                .is_some_and(|seat| seat.slot.task.is_none())
            {
                self.supervisor
                    .late(&format!("`#[on_stop]` of task {} was still waiting", tenure.task));
            }
        }
        self.clock.comes_to(passages::RESTING);
        let now = self.clock.now();
        let committing: Vec<Tenure> = tasks
            .iter()
            .copied()
            .filter(|tenure| !self.board.is_over(*tenure, now))
            .filter(|tenure| self.seats.get(tenure).is_some_and(Seat::committable))
            .collect();
        if !self.plan.has(Sabotage::NoLastCommit) {
            self.commit(&committing, Some(deadline)).await;
        }
        self.tell_uncommitted(&committing);
        for tenure in tasks {
            self.leave(tenure);
        }
    }

    /// In a stop nobody is left to do again what could not be committed: that is no clean end.
    fn tell_uncommitted(&self, tasks: &[Tenure]) {
        let falls_back = |tenure: &&Tenure| {
            let seat = self.seats.get(tenure);
            seat.is_some_and(|seat| seat.fate == Fate::FallsBack)
        };
        for tenure in tasks.iter().filter(falls_back) {
            self.supervisor
                .late(&format!("the last commit of task {} has failed", tenure.task));
        }
    }

    /// Closes a task that rests, whatever was or was not committed.
    pub(super) fn leave(&mut self, tenure: Tenure) {
        if let Some(seat) = self.seats.remove(&tenure) {
            self.forget(tenure);
            seat.slot.close();
            self.clock.comes_to(passages::CLOSED);
            // Last, for a revocation may wait for it.
            self.board.gone(tenure);
        }
    }

    /// Nobody needs to know any more what a task is at.
    fn forget(&self, tenure: Tenure) {
        self.rests.remove(tenure);
        self.board.pulses[self.number].remove(tenure);
    }

    /// Gives tasks back that are wanted back.
    pub(super) async fn revoke(&mut self, revoked: Vec<(Tenure, Token)>) {
        let (here, gone): (Vec<_>, Vec<_>) = revoked
            .into_iter()
            .partition(|(tenure, _)| self.seats.contains_key(tenure));
        for (tenure, token) in gone {
            // Handed back: the order goes after it. A restorer that has ended has passed the task on before, and whoever got it
            // is putting it away.
            if let Err(refused) = self.restorer.send(RestorerOrder::Revoke(tenure, token))
                && let RestorerOrder::Revoke(tenure, token) = refused.0
            {
                self.board.hold(tenure, token);
            }
        }
        if let Some(deadline) = here.iter().map(|(_, token)| token.deadline).min() {
            let tasks = here.iter().map(|(tenure, _)| *tenure).collect();
            let _passage = self.clock.passage(passages::REVOCATION);
            let tokens = (!self.plan.has(Sabotage::ReleasedFirst)).then_some(here);
            self.close(tasks, deadline).await;
            drop(tokens);
        }
    }

    pub(super) async fn lost(&mut self, tenure: Tenure) {
        if !self.seats.contains_key(&tenure) {
            let _ = self.restorer.send(RestorerOrder::Lost(tenure));
            return;
        }
        self.drop_activation(tenure);
        self.rest(&[tenure], Duration::MAX).await;
        self.leave(tenure);
    }

    /// Takes a resting task from its seat, without the task itself: it is built anew.
    pub(super) fn take_back(&mut self, tenure: Tenure) -> Option<Slot> {
        let mut seat = self.seats.remove(&tenure)?;
        self.forget(tenure);
        if let Some(mut task) = seat.slot.task.take() {
            seat.slot.carry = task.take_carry();
        }
        Some(seat.slot)
    }
}
