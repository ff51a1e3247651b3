//! What is done to whom, and when: all of it is determined by the seed.
//!
//! Each process and the broker have an endless plan of their own, so that how long one of them takes for a step changes
//! nothing for the others.

use std::time::Duration;

use crate::{chance::Chance, options::Options};

/// What is done to a process, after it has run for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// How long it is left in peace before.
    pub(crate) after: Duration,
    pub(crate) harm: Harm,
}

/// See [`Step`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Harm {
    /// `SIGSTOP`, and `SIGCONT` after this time.
    Freeze(Duration),
    /// `kill -9`, perhaps after it was frozen for a while.
    Kill { frozen: Duration, then: Absence },
    /// `SIGTERM`.
    Stop(Absence),
}

/// What comes after an end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Absence {
    /// When it is started again.
    pub(crate) time: Duration,
    /// Whether its state directory is removed meanwhile.
    pub(crate) wiped: bool,
}

/// What is done to the broker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrokerStep {
    pub(crate) after: Duration,
    pub(crate) harm: BrokerHarm,
    /// How long it is away.
    pub(crate) time: Duration,
}

/// See [`BrokerStep`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum BrokerHarm {
    Kill,
    Restart,
    Freeze,
}

#[derive(Clone, Copy)]
enum Kind {
    Kill,
    KillFrozen,
    Stop,
    Freeze,
    FreezeBeyondSession,
    FreezeBeyondTransaction,
}

/// The plan for a process.
pub(crate) fn of_process(options: &Options, number: usize) -> impl Iterator<Item = Step> + use<> {
    let mut chance = Chance::new(options.seed, 1 + number as u64);
    let (session, transaction) = (options.session, options.transaction.max(options.session));
    let second = Duration::from_secs(1);
    std::iter::repeat_with(move || {
        let after = chance.time(second / 10, second * 6);
        let kind = chance.pick(&[
            (45, Kind::Kill),
            (5, Kind::KillFrozen),
            (15, Kind::Stop),
            (12, Kind::Freeze),
            (15, Kind::FreezeBeyondSession),
            (8, Kind::FreezeBeyondTransaction),
        ]);
        let harm = match kind {
            Kind::Freeze => Harm::Freeze(chance.time(second / 20, session * 2 / 3)),
            Kind::FreezeBeyondSession => {
                Harm::Freeze(chance.time(session + second / 2, session + second * 2))
            }
            Kind::FreezeBeyondTransaction => {
                Harm::Freeze(chance.time(transaction + second, transaction + second * 3))
            }
            Kind::Kill => Harm::Kill {
                frozen: Duration::ZERO,
                then: absence(&mut chance, session),
            },
            Kind::KillFrozen => Harm::Kill {
                frozen: chance.time(second / 10, session + second),
                then: absence(&mut chance, session),
            },
            Kind::Stop => Harm::Stop(absence(&mut chance, session)),
        };
        Step { after, harm }
    })
}

/// Mostly it is back soon; now and then others have its partitions by then.
fn absence(chance: &mut Chance, session: Duration) -> Absence {
    let second = Duration::from_secs(1);
    let long = chance.below(4) == 0;
    Absence {
        time: if long {
            chance.time(session, session + second * 3)
        } else {
            chance.time(Duration::ZERO, second)
        },
        wiped: chance.below(6) == 0,
    }
}

/// The plan for the broker.
pub(crate) fn of_broker(options: &Options) -> impl Iterator<Item = BrokerStep> + use<> {
    let mut chance = Chance::new(options.seed, 0);
    let session = options.session;
    let second = Duration::from_secs(1);
    std::iter::repeat_with(move || {
        let after = chance.time(second * 8, second * 24);
        let harm = chance.pick(&[
            (40, BrokerHarm::Kill),
            (35, BrokerHarm::Restart),
            (25, BrokerHarm::Freeze),
        ]);
        let time = match harm {
            BrokerHarm::Freeze => chance.time(second / 2, session + second * 2),
            BrokerHarm::Kill | BrokerHarm::Restart => chance.time(Duration::ZERO, second * 2),
        };
        BrokerStep { after, harm, time }
    })
}

/// The first steps of each plan, for a person.
pub(crate) fn show(options: &Options) -> String {
    const STEPS: usize = 20;
    let mut text = format!("seed {}, the first {STEPS} steps for each\n", options.seed);
    let broker = of_broker(options).take(STEPS);
    text.extend(broker.map(|step| {
        format!(
            "broker: after {:?} {:?} for {:?}\n",
            step.after, step.harm, step.time
        )
    }));
    for number in 0..options.processes {
        let steps = of_process(options, number).take(STEPS);
        text.extend(steps.map(|step| format!("process {number}: after {:?} {:?}\n", step.after, step.harm)));
    }
    text
}
