//! Events that wait until an instance is in the middle of something: the gap between two steps whose order matters is short,
//! and a fault that comes at a random time rarely hits it.
//!
//! Ambushes are drawn before anything happens, as all of a plan; which of them are laid says the trial. Their places are
//! those of the runtime's `passages`: for a new one there, a line in its list is all that it takes.

use std::{fmt, time::Duration};

use super::{
    super::super::passages::{self, PLACES},
    chance::Chance,
    event::{self, Kind},
    machine::DiskTrouble,
};
use crate::{
    cluster::ClusterErrorKind,
    testing::{
        ambush::{self, Snag},
        clock::Coordinator,
        mishaps,
    },
};

/// How many there are in each plan.
pub(super) const COUNT: u64 = 10;
/// Instances come to these seldom, so they are drawn more often.
const SELDOM: [&str; 12] = [
    passages::FALL_BACK,
    passages::REVOCATION,
    passages::WANTED_BACK,
    passages::LOST,
    passages::WANTED_BACK_UNRESTORED,
    passages::LOST_UNRESTORED,
    passages::REBUILT,
    passages::OWING,
    passages::NOT_COMMITTED,
    passages::DOUBTED,
    passages::RENEWED,
    passages::HANDED_BACK,
];
/// From this weight on, a deed must come up at each place in a run of many seeds. (The others do, too, but not each
/// of them so often that it could not be missing by accident.)
const OFTEN: u64 = 3;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Ambush {
    pub(super) number: u64,
    pub(super) place: &'static str,
    /// Sprung by the so-many-th who comes there.
    times: u64,
    /// Who comes is counted only after this one is sprung, if it was laid.
    after: Option<u64>,
    /// It strikes so many steps of the executor later.
    pub(super) steps: u64,
    pub(super) deed: Deed,
    /// Who is down after it is started again after this time; `None`: only by something else.
    pub(super) again: Option<Duration>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deed {
    pub(super) whom: Whom,
    pub(super) kind: Kind,
}

/// To whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    /// The instance that has come.
    Comer,
    /// The other one.
    Other,
}

type Make = fn(&mut Chance) -> Deed;

/// How each deed is drawn, and how often against the others.
const DEEDS: &[(u64, Make)] = &[
    (3, |_| comer(Kind::Crash)),
    (1, |_| comer(Kind::PowerLoss)),
    (3, |chance| {
        comer(Kind::Freeze(chance.time(Duration::from_secs(3))))
    }),
    (1, |chance| {
        comer(Kind::Cut(chance.time(Duration::from_millis(2500))))
    }),
    (1, |_| comer(Kind::Evict)),
    (1, |chance| {
        let kinds = [ClusterErrorKind::Fatal, ClusterErrorKind::Unauthorized];
        comer(Kind::Expel(chance.pick(&kinds)))
    }),
    (3, |chance| {
        let within = chance.pick(&[50, 300, 2000, 20_000]);
        comer(Kind::Stop(Duration::from_millis(within)))
    }),
    (4, |chance| {
        comer(Kind::WantBack(chance.pick(&[u64::MAX, 0x5555, 1])))
    }),
    (5, |chance| {
        let (others, chance) = (chance.pick(&[0, 0, 1, 2]), chance.next());
        comer(Kind::Snag(Snag::Fails { others, chance }))
    }),
    (1, |_| comer(Kind::Snag(Snag::Slow))),
    (1, |chance| {
        let trouble = chance.pick(&[DiskTrouble::Full, DiskTrouble::Broken]);
        comer(Kind::Disk(trouble, chance.time(Duration::from_millis(500))))
    }),
    (1, |chance| {
        let coordinator = chance.pick(&[Coordinator::Group, Coordinator::Transactions]);
        comer(Kind::Away(coordinator, chance.time(Duration::from_secs(2))))
    }),
    (1, |_| comer(Kind::Compact)),
    (1, |chance| comer(event::wall_clock(chance))),
    (2, |_| other(Kind::Start)),
    (2, |_| other(Kind::Stop(Duration::from_secs(2)))),
    (2, |_| other(Kind::Crash)),
];

const fn comer(kind: Kind) -> Deed {
    let whom = Whom::Comer;
    Deed { whom, kind }
}

const fn other(kind: Kind) -> Deed {
    let whom = Whom::Other;
    Deed { whom, kind }
}

/// All ambushes of a plan. Of a `calm` one, mostly those after which nothing is done twice.
pub(super) fn draw(chance: &mut Chance, calm: bool) -> Vec<Ambush> {
    let calm = calm && !chance.one_in(4);
    (1..=COUNT).map(|number| one(number, chance, calm)).collect()
}

fn one(number: u64, chance: &mut Chance, calm: bool) -> Ambush {
    // A part of them comes on top of another one: what makes up for one fault must bear the next.
    let after = (number > 1 && chance.one_in(2)).then(|| number - 1);
    let times = match after {
        Some(_) => chance.pick(&[1, 1, 2, 4]),
        None => chance.pick(&[1, 2, 4, 11]),
    };
    let seldom = chance.below(5) < 2;
    Ambush {
        number,
        place: chance.pick(if seldom { &SELDOM } else { PLACES }),
        times,
        after,
        steps: chance.pick(&[0, 0, 0, 1, 2, 5, 15]),
        deed: deed(chance, calm),
        again: chance
            .pick(&[None, Some(0), Some(30), Some(500)])
            .map(Duration::from_millis),
    }
}

fn deed(chance: &mut Chance, calm: bool) -> Deed {
    loop {
        let deed = mishaps::pick(chance.next(), DEEDS).map(|make| make(chance));
        if let Some(deed) = deed.filter(|deed| !calm || deed.kind.is_clean()) {
            return deed;
        }
    }
}

impl Ambush {
    /// What the clock needs to know of it.
    pub(super) fn trap(&self) -> ambush::Ambush {
        let snag = match self.deed.kind {
            Kind::Snag(snag) => Some(snag),
            _ => None,
        };
        ambush::Ambush {
            number: self.number,
            place: self.place,
            times: self.times,
            after: self.after,
            snag,
        }
    }
}

impl Deed {
    pub(super) fn name(self) -> &'static str {
        match (self.whom, self.kind) {
            (Whom::Other, Kind::Start) => "the other one starts",
            (Whom::Other, Kind::Stop(_)) => "the other one stops",
            (Whom::Other, _) => "the other one crashes",
            (Whom::Comer, kind) => kind.name(),
        }
    }
}

/// What must come up: places, and what is done there.
pub(super) fn due() -> impl Iterator<Item = (&'static str, &'static str)> {
    let any = &mut Chance::of(0, 0);
    let deeds: Vec<&str> = DEEDS
        .iter()
        .filter(|(weight, _)| *weight >= OFTEN)
        .map(|(_, make)| make(any).name())
        .collect();
    // What owes firings is so rare that some of it may be missing by accident.
    let places = PLACES.iter().filter(|place| **place != passages::OWING);
    places.flat_map(move |place| deeds.clone().into_iter().map(move |deed| (*place, deed)))
}

impl fmt::Display for Ambush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number, place, deed, ..
        } = self;
        write!(f, "ambush {number}: {place}: ")?;
        match deed.whom {
            Whom::Comer => write!(f, "{}", deed.kind),
            Whom::Other => f.write_str(deed.name()),
        }
    }
}

#[test]
fn each_deed_is_drawn_as_often_as_its_weight_says() {
    let mut times = std::collections::BTreeMap::<&str, u64>::new();
    let chance = &mut Chance::of(1, 1);
    for ambush in (0..1000).flat_map(|_| draw(chance, false)) {
        *times.entry(ambush.deed.name()).or_default() += 1;
    }
    assert_eq!(times.len(), DEEDS.len());
    assert!(times.values().all(|times| *times > 100), "{times:?}");
    assert!(times["a request fails"] > 2 * times["power loss"], "{times:?}");
}
