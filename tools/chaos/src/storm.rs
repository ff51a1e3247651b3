//! Does what the plan says, and counts it.

use std::{cell::RefCell, io, process::ExitStatus, time::Duration};

use kproc::{Clock, SystemClock};
use rustix::process::Signal;

use crate::{
    BROKER,
    options::Options,
    plan::{self, Absence, BrokerHarm, Harm, Step},
    process::Process,
};

/// How often it is looked whether a process has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long a process that has ended by itself stays away.
const REST: Duration = Duration::from_secs(1);

/// What was done.
#[derive(Debug, Default, Clone)]
pub(crate) struct Deeds {
    pub(crate) kills: u64,
    /// Frozen, for less than a session, longer than that, longer than a transaction may take.
    pub(crate) freezes: [u64; 3],
    pub(crate) stops: u64,
    pub(crate) wiped: u64,
    pub(crate) broker_kills: u64,
    pub(crate) broker_restarts: u64,
    pub(crate) broker_freezes: u64,
    /// Ends that nobody asked for, and stops with a failure.
    pub(crate) ends: Vec<String>,
    /// Stops that took for ever.
    pub(crate) stuck: Vec<String>,
}

impl Deeds {
    pub(crate) fn harm(&self) -> u64 {
        self.kills + self.freezes.iter().sum::<u64>()
    }

    pub(crate) fn broker_harm(&self) -> u64 {
        self.broker_kills + self.broker_restarts
    }
}

/// See the module.
pub(crate) struct Storm<'r> {
    pub(crate) options: &'r Options,
    pub(crate) clock: &'r SystemClock,
    pub(crate) begun: Duration,
    pub(crate) deeds: RefCell<Deeds>,
}

impl Storm<'_> {
    pub(crate) fn is_over(&self) -> bool {
        let deeds = self.deeds.borrow();
        self.clock.now() >= self.begun + self.options.time
            && deeds.kills >= self.options.kills
            && deeds.broker_harm() >= self.options.broker_harm
    }

    /// Attacks a process until all is over. It runs then.
    pub(crate) async fn attack(&self, process: &mut Process) -> io::Result<()> {
        process.start()?;
        for Step { after, harm } in plan::of_process(self.options, process.number) {
            self.live(process, after).await?;
            if self.is_over() {
                break;
            }
            match harm {
                Harm::Freeze(time) => {
                    self.freeze(process, time).await?;
                    self.count(|deeds| deeds.freezes[self.class(time)] += 1);
                }
                Harm::Kill { frozen, then } => {
                    if !frozen.is_zero() {
                        process.note("frozen")?;
                        process.signal(Signal::STOP)?;
                        self.pause(frozen).await;
                    }
                    process.note("killed")?;
                    process.kill()?;
                    self.count(|deeds| deeds.kills += 1);
                    self.absent(process, then).await?;
                }
                Harm::Stop(then) => {
                    self.stop(process).await?;
                    self.count(|deeds| deeds.stops += 1);
                    self.absent(process, then).await?;
                }
            }
        }
        Ok(())
    }

    async fn freeze(&self, process: &Process, time: Duration) -> io::Result<()> {
        process.note("frozen")?;
        process.signal(Signal::STOP)?;
        self.pause(time).await;
        process.note("thawed")?;
        process.signal(Signal::CONT)
    }

    /// Stops a process in good order, and waits until it has ended. Whether it has ended well.
    pub(crate) async fn stop(&self, process: &mut Process) -> io::Result<bool> {
        process.note("stopped")?;
        process.signal(Signal::TERM)?;
        let patience = self.clock.now() + self.options.patience;
        loop {
            if let Some(status) = process.ended()? {
                if !status.success() {
                    self.has_ended(process, "was stopped", status);
                }
                return Ok(status.success());
            }
            if self.clock.now() > patience {
                let stuck = format!("process {} does not stop", process.number);
                self.count(|deeds| deeds.stuck.push(stuck));
                process.note("killed")?;
                process.kill()?;
                return Ok(false);
            }
            self.pause(LOOK).await;
        }
    }

    async fn absent(&self, process: &mut Process, absence: Absence) -> io::Result<()> {
        if absence.wiped {
            process.wipe()?;
            self.count(|deeds| deeds.wiped += 1);
        }
        self.pause(absence.time).await;
        process.start()
    }

    /// Lets time pass for a process. If it ends, it is started again.
    pub(crate) async fn live(&self, process: &mut Process, time: Duration) -> io::Result<()> {
        let until = self.clock.now() + time;
        while self.clock.now() < until {
            if let Some(status) = process.ended()? {
                process.note("ended")?;
                self.has_ended(process, "ended by itself", status);
                self.pause(REST).await;
                process.start()?;
            }
            self.pause(LOOK).await;
        }
        Ok(())
    }

    fn has_ended(&self, process: &Process, how: &str, status: ExitStatus) {
        let log = std::fs::read(process.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        // The command line's last word is no JSON.
        let said = log
            .lines()
            .rev()
            .find(|line| !line.starts_with('{'))
            .unwrap_or_default();
        let end = format!("process {} {how} ({status}): {said}", process.number);
        eprintln!("kproc-chaos: {end}");
        self.count(|deeds| deeds.ends.push(end));
    }

    /// Attacks the broker until all is over. It runs then.
    pub(crate) async fn attack_broker(&self) -> io::Result<()> {
        for step in plan::of_broker(self.options) {
            // In pieces, for all may be over meanwhile.
            let until = self.clock.now() + step.after;
            while self.clock.now() < until && !self.is_over() {
                self.pause(LOOK).await;
            }
            if self.is_over() {
                break;
            }
            let (away, back) = match step.harm {
                BrokerHarm::Kill => ("kill", "start"),
                BrokerHarm::Restart => ("stop", "start"),
                BrokerHarm::Freeze => ("freeze", "thaw"),
            };
            tell_broker(away).await?;
            self.pause(step.time).await;
            tell_broker(back).await?;
            self.count(|deeds| match step.harm {
                BrokerHarm::Kill => deeds.broker_kills += 1,
                BrokerHarm::Restart => deeds.broker_restarts += 1,
                BrokerHarm::Freeze => deeds.broker_freezes += 1,
            });
        }
        Ok(())
    }

    /// Which of the classes of freezes one of this length is.
    fn class(&self, time: Duration) -> usize {
        usize::from(time > self.options.session) + usize::from(time > self.options.transaction)
    }

    fn count(&self, count: impl FnOnce(&mut Deeds)) {
        count(&mut self.deeds.borrow_mut());
    }

    pub(crate) async fn pause(&self, time: Duration) {
        self.clock.sleep_until(self.clock.now() + time).await;
    }
}

/// Waits on another thread, for a broker takes its time.
async fn tell_broker(what: &'static str) -> io::Result<()> {
    let told = tokio::task::spawn_blocking(move || BROKER.tell(what));
    told.await
        .map_err(|error| io::Error::other(format!("the broker: {error}")))
}
