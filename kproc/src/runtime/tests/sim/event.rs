//! What can happen to an instance, apart from single requests that go wrong.
//!
//! **A new kind** takes a few lines here and none elsewhere: a variant of [`Kind`] with all that makes it that one (how
//! long, how much), a row in [`KINDS`] that says how one is drawn, an arm of `Display`, and an arm of [`happen`], which
//! does it. A kind that finds nothing to happen to does nothing: any event can be left out of a plan, and the others stay
//! where they are. What goes on for a while ends by itself (`clock.schedule`), or by `calm_down` before the final check.
//! (Single requests: `faults_of` in `testing/sim.rs`.)

use std::{fmt, time::Duration};

use super::{chance::Chance, site::Site};
use crate::Clock;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Start,
    Stop,
    Crash,
    /// The network is cut, for longer than a session or not, and back; who was cut off believes what it believed.
    Cut(Duration),
    /// The state directory of an instance that is down is gone.
    LoseState,
}

/// Whether an instance is there for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Up,
    Down,
}

/// How an event of a kind is drawn.
pub(super) struct Draw {
    pub(super) when: When,
    /// How often it is drawn, against others.
    pub(super) weight: u64,
    pub(super) make: fn(&mut Chance) -> Kind,
}

/// All kinds but [`Kind::Start`] and [`Kind::Stop`], which every plan has. A plan has some of these, or none.
pub(super) const KINDS: &[Draw] = &[
    Draw {
        when: When::Up,
        weight: 3,
        make: |_| Kind::Crash,
    },
    Draw {
        when: When::Up,
        weight: 2,
        make: |chance| Kind::Cut(chance.time(Duration::from_millis(2500))),
    },
    Draw {
        when: When::Down,
        weight: 2,
        make: |_| Kind::LoseState,
    },
];

impl Kind {
    /// Whether nothing of it is ever done twice.
    pub(super) fn is_clean(self) -> bool {
        matches!(self, Self::Start | Self::Stop)
    }

    /// Whether an instance may go on afterwards with partitions that others have.
    pub(super) fn makes_zombies(self) -> bool {
        matches!(self, Self::Cut(_))
    }

    /// Whether the instance is up after it.
    pub(super) fn leaves_up(self) -> Option<bool> {
        match self {
            Self::Start => Some(true),
            Self::Stop | Self::Crash => Some(false),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Stop => f.write_str("stop"),
            Self::Crash => f.write_str("crash"),
            Self::Cut(time) => write!(f, "cut off for {time:?}"),
            Self::LoseState => f.write_str("lose state"),
        }
    }
}

/// Does it to the instance of this slot; false: there was nothing to happen.
pub(super) fn happen(kind: Kind, slot: usize, site: &mut Site) -> bool {
    if kind == Kind::Start {
        return site.start(slot);
    }
    if kind == Kind::LoseState {
        // It may have died before it had one.
        return site.is_down(slot) && std::fs::remove_dir_all(site.directory(slot)).is_ok();
    }
    let Some(instance) = site.instance(slot) else {
        return false;
    };
    match kind {
        Kind::Stop => instance.running.shutdown(Duration::from_secs(20)),
        Kind::Crash => site.crash(slot),
        Kind::Cut(time) => {
            let connection = instance.connection.clone();
            connection.sever();
            let clock = site.clock();
            clock.schedule(clock.now() + time, move || connection.mend());
        }
        Kind::Start | Kind::LoseState => {}
    }
    true
}
