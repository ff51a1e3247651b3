//! What is to happen in a trial, decided by its seed before anything does.

use std::{fmt, time::Duration};

use super::{
    ambush::{self, Ambush},
    chance::Chance,
    event::{Draw, KINDS, Kind, When},
    site::SLOTS,
    workload::{Workload, Write},
};

/// See the module.
pub(super) struct Plan {
    pub(super) events: Vec<Event>,
    pub(super) ambushes: Vec<Ambush>,
    pub(super) input: Vec<Write>,
    /// One in so many requests goes wrong; `None`: none does.
    pub(super) requests: Option<u64>,
    /// One in so many records makes its handler panic; `None`: none does.
    pub(super) panics: Option<u64>,
    /// How long it goes on after the last event and the last record: what is not known then is asked for again.
    pub(super) rest: Duration,
    pub(super) commit_interval: Duration,
    pub(super) transaction_timeout: Duration,
    /// How many records are restored at once: few, so that a restore takes some time, in which something can happen.
    pub(super) restore_batch: usize,
    /// Values are kept with checksums.
    pub(super) checksum: bool,
    /// An instance that has failed is started again after this time, as by a supervisor; `None`: only by an event.
    pub(super) supervised: Option<Duration>,
}

/// Something that is to happen to an instance.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// Its number in the plan, from 1 on.
    pub(super) number: u64,
    pub(super) at: Duration,
    /// So many steps of the executor later: what is under way may be at any point.
    pub(super) steps: u64,
    pub(super) slot: usize,
    pub(super) kind: Kind,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number, slot, kind, ..
        } = self;
        write!(f, "event {number}: {}: {kind}", SLOTS[*slot])
    }
}

/// Subjects of chance.
const EVENTS: u64 = 1;
const INPUT: u64 = 2;
const AMBUSHES: u64 = 3;
/// That offsets are lost.
pub(super) const OFFSETS: u64 = 4;

/// Events go on for a while after the last record.
const AFTER_INPUT: Duration = Duration::from_millis(500);

impl Plan {
    pub(super) fn new(workload: &dyn Workload, seed: u64) -> Self {
        let input = workload.input(&mut Chance::of(seed, INPUT));
        let end = input.last().map_or(Duration::ZERO, |write| write.at) + AFTER_INPUT;
        let mut chance = Chance::of(seed, EVENTS);
        // Not everything in every plan: some things need others not to happen.
        let calm = chance.one_in(6);
        let kinds: Vec<&Draw> = KINDS.iter().filter(|_| !calm && chance.one_in(2)).collect();
        let panics = chance.pick(&[None, None, None, Some(10)]);
        let requests = chance.pick(&[None, Some(300), Some(100), Some(30), Some(10)]);
        Self {
            events: events(&mut chance, &kinds, end),
            ambushes: ambush::draw(&mut Chance::of(seed, AMBUSHES), calm),
            input,
            requests: requests.filter(|_| !calm),
            panics,
            rest: Duration::from_secs(chance.pick(&[0, 0, 5, 30])),
            commit_interval: Duration::from_millis(chance.pick(&[10, 20, 50, 100])),
            transaction_timeout: Duration::from_millis(chance.pick(&[300, 1500])),
            restore_batch: chance.pick(&[1, 2, 5, 100]),
            checksum: chance.one_in(3),
            supervised: chance
                .pick(&[None, Some(50), Some(1000)])
                .map(Duration::from_millis),
        }
    }
}

impl Plan {
    /// Of all that is to happen.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> {
        let events = self.events.iter().map(|event| event.kind);
        events.chain(self.ambushes.iter().map(|ambush| ambush.deed.kind))
    }

    /// Whether nothing happens because of which anything may be done twice, if there are no ambushes.
    pub(super) fn is_clean(&self) -> bool {
        self.requests.is_none() && self.events.iter().all(|event| event.kind.is_clean())
    }
}

fn events(chance: &mut Chance, kinds: &[&Draw], end: Duration) -> Vec<Event> {
    let count = 3 + chance.below(20);
    let mut times: Vec<Duration> = (0..count).map(|_| chance.time(end)).collect();
    times.sort();
    // As far as is known now: an instance may end by itself.
    let mut up = SLOTS.map(|_| false);
    let mut events: Vec<Event> = Vec::new();
    for at in times {
        let slot = chance.below(SLOTS.len() as u64) as usize;
        let kind = kind(chance, kinds, up[slot]);
        let steps = if chance.one_in(2) { chance.below(200) } else { 0 };
        up[slot] = kind.leaves_up().unwrap_or(up[slot]);
        events.push(Event {
            number: events.len() as u64 + 1,
            at,
            steps,
            slot,
            kind,
        });
    }
    events
}

/// What happens to an instance that is up or down: half the time what only happens in this plan.
fn kind(chance: &mut Chance, kinds: &[&Draw], up: bool) -> Kind {
    let when = if up { When::Up } else { When::Down };
    let fit = || kinds.iter().filter(|draw| draw.when == when);
    let all: u64 = fit().map(|draw| draw.weight).sum();
    let usual = if up {
        Kind::Stop(Duration::from_secs(chance.pick(&[2, 20])))
    } else {
        Kind::Start
    };
    if all == 0 || chance.one_in(3) {
        return usual;
    }
    let mut choice = chance.below(all);
    for draw in fit() {
        if choice < draw.weight {
            return (draw.make)(chance);
        }
        choice -= draw.weight;
    }
    usual
}
