//! What lies in wait in a simulation: it is sprung when somebody comes to a place for the so-many-th time.
//!
//! Here is who comes where, and what befalls their requests at once. What else is done to them is for whoever laid it.

use std::collections::BTreeMap;

use super::exec::Crew;

/// Something that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ambush {
    pub(crate) number: u64,
    /// Where it waits: what [`Clock::comes_to`](crate::Clock::comes_to), and what else tells where an instance is, is given.
    pub(crate) place: &'static str,
    /// How many times somebody is still to come there.
    pub(crate) times: u64,
    /// Those who come are counted only when this one is sprung, if it was laid.
    pub(crate) after: Option<u64>,
    /// What befalls a request of the one who has come; `None`: nothing.
    pub(crate) snag: Option<Snag>,
}

/// What befalls a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Snag {
    /// After so many others, one goes wrong as this chance has it.
    Fails { others: u64, chance: u64 },
    /// The next one takes very long.
    Slow,
}

/// One that was sprung, and who had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sprung {
    pub(crate) number: u64,
    pub(crate) crew: Crew,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Ambushes {
    laid: Vec<Ambush>,
    sprung: Vec<Sprung>,
    snags: BTreeMap<Crew, Vec<Snag>>,
}

impl Ambushes {
    pub(super) fn of(laid: Vec<Ambush>) -> Self {
        Self {
            laid,
            ..Self::default()
        }
    }

    /// Somebody comes to a place.
    pub(super) fn comes(&mut self, crew: Crew, place: &'static str) {
        if self.laid.is_empty() {
            return;
        }
        let waiting: Vec<u64> = self.laid.iter().map(|ambush| ambush.number).collect();
        let met = |ambush: &&mut Ambush| {
            ambush.place == place && ambush.after.is_none_or(|after| !waiting.contains(&after))
        };
        for ambush in self.laid.iter_mut().filter(met) {
            ambush.times = ambush.times.saturating_sub(1);
            if ambush.times == 0 {
                let number = ambush.number;
                self.sprung.push(Sprung { number, crew });
                self.snags.entry(crew).or_default().extend(ambush.snag);
            }
        }
        self.laid.retain(|ambush| ambush.times > 0);
    }

    /// Those that were sprung since this was asked last.
    pub(super) fn take_sprung(&mut self) -> Vec<Sprung> {
        std::mem::take(&mut self.sprung)
    }

    /// Somebody makes a request. If it is to go wrong: by which chance.
    pub(super) fn fails(&mut self, crew: Crew) -> Option<u64> {
        let snags = self.snags.get_mut(&crew)?;
        let place = snags.iter().position(|snag| matches!(snag, Snag::Fails { .. }))?;
        match &mut snags[place] {
            Snag::Fails { others, .. } if *others > 0 => {
                *others -= 1;
                None
            }
            Snag::Fails { chance, .. } => {
                let chance = *chance;
                snags.remove(place);
                Some(chance)
            }
            Snag::Slow => None,
        }
    }

    /// Somebody does something that takes time. Whether it takes very long.
    pub(super) fn is_slow(&mut self, crew: Crew) -> bool {
        let snags = self.snags.get_mut(&crew);
        let slow = snags.and_then(|snags| {
            let place = snags.iter().position(|snag| *snag == Snag::Slow)?;
            Some(snags.remove(place))
        });
        slow.is_some()
    }
}

#[test]
fn an_ambush_is_sprung_when_its_time_has_come() {
    let ambush = |number, times, after| Ambush {
        number,
        place: "here",
        times,
        after,
        snag: Some(Snag::Fails { others: 1, chance: 7 }),
    };
    let mut ambushes = Ambushes::of(vec![
        ambush(1, 2, None),
        ambush(2, 1, Some(1)),
        ambush(3, 9, Some(8)),
    ]);
    let (one, other) = (Crew(1), Crew(2));
    ambushes.comes(one, "there");
    ambushes.comes(one, "here");
    assert_eq!(ambushes.take_sprung(), []);
    ambushes.comes(other, "here");
    let sprung = |number, crew| vec![Sprung { number, crew }];
    assert_eq!(ambushes.take_sprung(), sprung(1, other));
    let requests = [(); 3].map(|()| ambushes.fails(other));
    assert_eq!((requests, ambushes.fails(one)), ([None, Some(7), None], None));
    ambushes.comes(one, "here");
    assert_eq!(ambushes.take_sprung(), sprung(2, one));
}
