//! What can happen to an instance, apart from single requests that go wrong.
//!
//! **A new kind** takes a few lines here and none elsewhere: a variant of [`Kind`] with all that makes it that one (how
//! long, how much), a row in [`KINDS`] that says how one is drawn, an arm of [`Kind::name`], and one of [`happen`],
//! which does it. A kind that finds nothing to happen to does nothing: any event can be left out of a plan, and the others stay
//! where they are. What goes on for a while ends by itself (`clock.schedule`), or by `calm_down` before the final check.
//! (Single requests: `faults_of` in `testing/sim.rs`.)

use std::{fmt, time::Duration};

use super::{chance::Chance, harm::Harm, machine::DiskTrouble, site::Site};
use crate::{
    Clock,
    cluster::ClusterErrorKind,
    testing::{ambush::Snag, clock::Coordinator},
};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Start,
    /// It is asked to stop, within that time.
    Stop(Duration),
    Crash,
    /// The network is cut, for longer than a session or not, and back; who was cut off believes what it believed.
    Cut(Duration),
    /// The process stands still, as after SIGSTOP, for longer than its session or its transactions' time-out, or not; then
    /// it goes on, believing what it believed.
    Freeze(Duration),
    /// The group forgets its member.
    Evict,
    /// The group refuses its member for good.
    Expel(ClusterErrorKind),
    /// The machine loses its power: the process dies, and what was not synced is lost.
    PowerLoss,
    /// The machine of an instance that is down is started again.
    Reboot,
    /// The disk does not take all that is written.
    Disk(DiskTrouble, Duration),
    /// The state directory of an instance that is down is gone.
    LoseState,
    /// It comes to harm.
    Harm(Harm),
    /// It changes places with that of the other slot.
    SwapState,
    /// It is copied, or an older copy takes its place.
    Backup,
    /// The wall clock of all jumps by so many minutes.
    WallClock(i64),
    /// Some messages take very long.
    Slow(Duration),
    /// A coordinator moves to another broker, which takes so long.
    Away(Coordinator, Duration),
    /// Changelogs are compacted.
    Compact,
    /// The group wants partitions back, those with a number in this mask, and gives them again. Only from an ambush.
    WantBack(u64),
    /// A request goes wrong, or takes long. Only from an ambush: it is there before the instance goes on.
    Snag(Snag),
}

/// Who has so much time to stop must be done by then, whatever it is in the middle of.
const ENOUGH_TO_STOP: Duration = Duration::from_secs(2);

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

/// All kinds but [`Kind::Start`] and [`Kind::Stop`], which every plan has, and those of ambushes. A plan has some of these, or none.
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
    Draw {
        when: When::Up,
        weight: 2,
        make: |chance| Kind::Freeze(chance.time(Duration::from_secs(3))),
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |_| Kind::Evict,
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |chance| Kind::Expel(chance.pick(&[ClusterErrorKind::Fatal, ClusterErrorKind::Unauthorized])),
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |_| Kind::PowerLoss,
    },
    Draw {
        when: When::Down,
        weight: 1,
        make: |_| Kind::Reboot,
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |chance| {
            let trouble = chance.pick(&[DiskTrouble::Full, DiskTrouble::Broken]);
            Kind::Disk(trouble, chance.time(Duration::from_millis(500)))
        },
    },
    Draw {
        when: When::Down,
        weight: 3,
        make: |chance| Kind::Harm(Harm::draw(chance)),
    },
    Draw {
        when: When::Down,
        weight: 1,
        make: |_| Kind::SwapState,
    },
    Draw {
        when: When::Down,
        weight: 2,
        make: |_| Kind::Backup,
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: wall_clock,
    },
    Draw {
        when: When::Down,
        weight: 1,
        make: wall_clock,
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |chance| Kind::Slow(chance.time(Duration::from_secs(1))),
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |chance| {
            let coordinator = chance.pick(&[Coordinator::Group, Coordinator::Transactions]);
            Kind::Away(coordinator, chance.time(Duration::from_secs(2)))
        },
    },
    Draw {
        when: When::Up,
        weight: 1,
        make: |_| Kind::Compact,
    },
    Draw {
        when: When::Down,
        weight: 1,
        make: |_| Kind::Compact,
    },
];

/// Forward by up to thirty hours, every other time by more than a day, or back by up to one hour.
pub(super) fn wall_clock(chance: &mut Chance) -> Kind {
    let back = chance.one_in(2);
    Kind::WallClock(if back {
        -(chance.below(60) as i64)
    } else {
        let minutes = chance.below(30 * 60) as i64;
        if minutes % 2 == 0 {
            minutes
        } else {
            24 * 60 + minutes % (6 * 60)
        }
    })
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop(_) => "stop",
            Self::Crash => "crash",
            Self::Cut(_) => "cut off",
            Self::LoseState => "lose state",
            Self::Freeze(_) => "stand still",
            Self::Evict => "forgotten by the group",
            Self::Expel(_) => "refused by the group",
            Self::PowerLoss => "power loss",
            Self::Reboot => "reboot",
            Self::Disk(..) => "trouble with the disk",
            Self::Harm(harm) => harm.name(),
            Self::SwapState => "swap state",
            Self::Backup => "copy state, or put the copy back",
            Self::WallClock(_) => "the wall clock jumps",
            Self::Slow(_) => "slow messages",
            Self::Away(..) => "coordinator away",
            Self::Compact => "compaction",
            Self::WantBack(_) => "partitions wanted back",
            Self::Snag(Snag::Fails { .. }) => "a request fails",
            Self::Snag(Snag::Slow) => "a request takes long",
        }
    }

    /// Whether nothing of it is ever done twice. (Copies of a state directory have one transactional id, and fence each
    /// other.)
    pub(super) fn is_clean(self) -> bool {
        matches!(
            self,
            Self::Start | Self::WallClock(_) | Self::Compact | Self::SwapState | Self::WantBack(_)
        ) || matches!(self, Self::Stop(within) if within >= ENOUGH_TO_STOP)
    }

    /// Whether changelogs are compacted.
    pub(super) fn compacts(self) -> bool {
        match self {
            Self::Compact => true,
            Self::WallClock(minutes) => minutes > 0,
            _ => false,
        }
    }

    /// Whether an instance may go on afterwards with partitions that others have.
    pub(super) fn makes_zombies(self) -> bool {
        matches!(self, Self::Cut(_) | Self::Freeze(_) | Self::Evict | Self::Slow(_))
    }

    /// Whether records may arrive after others have the partition, although their instance was heard to be a member not long
    /// before: they are on their way for long, or the group has not waited for the end of its session. At least once,
    /// nothing can be done about that.
    pub(super) fn delays_records(self) -> bool {
        matches!(self, Self::Slow(_) | Self::Evict | Self::Snag(Snag::Slow))
    }

    /// Whether state is as good afterwards as it was, or gone as a whole.
    pub(super) fn spares_state(self) -> bool {
        !matches!(
            self,
            Self::PowerLoss
                | Self::Reboot
                | Self::Disk(..)
                | Self::Harm(_)
                | Self::SwapState
                | Self::Backup
                | Self::WallClock(_)
        )
    }

    /// Whether the instance is up after it.
    pub(super) fn leaves_up(self) -> Option<bool> {
        match self {
            Self::Start => Some(true),
            Self::Stop(_) | Self::Crash | Self::PowerLoss | Self::Expel(_) => Some(false),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Stop(time) => write!(f, " within {time:?}"),
            Self::Cut(time) | Self::Freeze(time) | Self::Slow(time) => write!(f, " for {time:?}"),
            Self::Disk(trouble, time) => write!(f, " {trouble:?} for {time:?}"),
            Self::Expel(kind) => write!(f, " as {kind:?}"),
            Self::WallClock(minutes) => write!(f, " by {minutes} min"),
            Self::Away(coordinator, time) => write!(f, " {coordinator:?} for {time:?}"),
            Self::WantBack(mask) => write!(f, ", of mask {mask:b}"),
            Self::Snag(Snag::Fails { others, .. }) => write!(f, ", after {others} others"),
            _ => Ok(()),
        }
    }
}

/// Does it to the instance of this slot; false: there was nothing to happen.
pub(super) fn happen(kind: Kind, slot: usize, site: &mut Site) -> bool {
    if kind == Kind::Start {
        return site.start(slot);
    }
    let clock = site.clock();
    match kind {
        Kind::WallClock(minutes) => {
            // Brokers' clocks and those of instances are taken to differ by less than an hour: see `restore::age`.
            if site.set_back + (-minutes).max(0) >= 60 {
                return false;
            }
            site.set_back += (-minutes).max(0);
            // Cleaners are at work all the time: they find what is deleted before that time passes, and remove it after.
            if kind.compacts() {
                site.world.cluster.compact();
            }
            clock.jump_wall(minutes * 60_000);
            if kind.compacts() {
                site.world.cluster.compact();
            }
        }
        Kind::Slow(time) => clock.slow_down(time),
        Kind::Away(coordinator, time) => clock.send_away(coordinator, time),
        Kind::Compact => site.world.cluster.compact(),
        // It was there before the instance went on, whatever has become of that since.
        Kind::Snag(_) => {}
        Kind::LoseState | Kind::Reboot | Kind::Harm(_) | Kind::SwapState | Kind::Backup => {
            return happen_to_state(kind, slot, site);
        }
        _ => return happen_to_instance(kind, slot, site),
    }
    clock.happens_to(None, kind.name());
    true
}

/// To the state directory, while nobody has it open.
fn happen_to_state(kind: Kind, slot: usize, site: &mut Site) -> bool {
    // A process may have died before it had one.
    let happens = site.is_down(slot)
        && match kind {
            Kind::Reboot => {
                site.machine(slot).restart(&site.directory(slot));
                true
            }
            Kind::Harm(harm) => site.harm(slot, harm),
            Kind::SwapState => site.swap_state(),
            Kind::Backup => site.backup(slot),
            _ => site.lose_state(slot),
        };
    if happens {
        site.clock().happens_to(None, kind.name());
    }
    happens
}

fn happen_to_instance(kind: Kind, slot: usize, site: &mut Site) -> bool {
    let Some(instance) = site.instance(slot) else {
        return false;
    };
    // Before it is done: nobody is in the middle of anything after a crash.
    site.clock().happens_to(Some(instance.crew), kind.name());
    match kind {
        Kind::Stop(within) => site.stop(slot, within),
        Kind::Crash => site.crash(slot),
        Kind::PowerLoss => {
            site.crash(slot);
            site.machine(slot).restart(&site.directory(slot));
        }
        Kind::Freeze(time) => site.freeze(slot, time),
        Kind::Evict => instance.connection.evict(),
        Kind::Expel(kind) => instance.connection.expel(kind),
        Kind::WantBack(mask) => instance.connection.want_back(mask),
        Kind::Disk(trouble, time) => site.machine(slot).has_trouble(trouble, time),
        Kind::Cut(time) => {
            let connection = instance.connection.clone();
            connection.sever();
            let clock = site.clock();
            clock.schedule(clock.now() + time, move || connection.mend());
        }
        _ => return false,
    }
    true
}
