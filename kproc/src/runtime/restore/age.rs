//! How long a store may be left alone before it is too old to be brought up from its changelog.
//!
//! A changelog keeps a deletion for some time (`delete.retention.ms`). Then it is gone, and with it all that was written
//! of that key before; a store that has not heard of it would have the key for ever. So a store that was up to date longer
//! ago than that is filled anew from what the changelog has. This is judged whenever something of the changelog was read, and
//! before it is saved: where the changelog has nothing that the store has not, there is nothing to have missed, however long
//! ago that was.

use std::time::Duration;

use humantime::format_duration;
use kproc_store::Followed;

use crate::{cluster::TopicDescription, record::Timestamp};

/// What is assumed of a changelog whose settings may not be seen: Kafka's default.
const USUAL: Duration = Duration::from_secs(24 * 60 * 60);

/// Clocks differ, and are set: a part of the time that deletions are kept is left for that. Of a day, an hour.
const MARGIN: u32 = 24;

/// It is not said more often than this that stores are up to date, however short deletions are kept.
const LEAST: Duration = Duration::from_secs(60);

/// No restore can be relied upon to take less than this.
pub(in super::super) const TOO_SHORT: Duration = Duration::from_secs(1);

/// Many a restore takes longer than this, and so does the absence of many an instance.
pub(in super::super) const SHORT: Duration = Duration::from_secs(60 * 60);

/// For how long a changelog keeps deletions.
pub(in super::super) fn kept(changelog: Option<&TopicDescription>) -> Duration {
    let config = changelog.map_or(&[][..], |topic| &topic.config);
    let millis = config.iter().find(|(name, _)| name == "delete.retention.ms");
    millis
        .and_then(|(_, millis)| millis.parse().ok())
        .map_or(USUAL, Duration::from_millis)
}

/// How often it is noted of stores that nothing is written to that they are up to date: so that they lose no more of the
/// time for which they may be left alone than what is left for clocks.
pub(super) fn interval(kept: Duration) -> Duration {
    (kept / MARGIN).max(LEAST)
}

/// Why a store may have missed a deletion, if something is in its changelog that it has not; `None`: it cannot. `kept`: for how
/// long the changelog keeps them now. Whoever has made that longer has not brought back what was gone by then.
pub(super) fn objection(followed: Option<Followed>, kept: Duration, now: Timestamp) -> Option<String> {
    let Some(followed) = followed else {
        return Some("nothing says when it was up to date".to_owned());
    };
    let kept = kept.min(followed.kept);
    let margin = kept / MARGIN;
    let ahead = followed.until.since(now);
    if ahead > margin {
        return Some(format!(
            "it was up to date {} from now: a clock was set back, and how old it is cannot be told",
            words(ahead)
        ));
    }
    let age = now.since(followed.until);
    (age > kept.saturating_sub(margin)).then(|| {
        format!(
            "it was up to date {} ago. Its changelog keeps deletions for {} (`delete.retention.ms`), less {} for clocks that \
             differ, so that it may have missed some. Where instances are away for longer, set more",
            words(age),
            words(kept),
            words(margin)
        )
    })
}

/// How to have a changelog keep them for a day.
pub(in super::super) fn command(changelog: &str) -> String {
    format!(
        "kafka-configs.sh --alter --entity-type topics --entity-name {changelog} --add-config delete.retention.ms={}",
        USUAL.as_millis()
    )
}

/// A duration for a person.
pub(in super::super) fn words(duration: Duration) -> impl std::fmt::Display {
    let seconds = Duration::from_secs(duration.as_secs());
    format_duration(if seconds.is_zero() { duration } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const DAY: Duration = HOUR.saturating_mul(24);

    fn at(time: Duration) -> Timestamp {
        Timestamp::EPOCH.saturating_add(time)
    }

    fn topic(kept: &str) -> TopicDescription {
        TopicDescription {
            name: "changelog".into(),
            id: uuid::Uuid::from_u128(1),
            partitions: 1,
            config: vec![("delete.retention.ms".to_owned(), kept.to_owned())],
        }
    }

    #[test]
    fn a_day_is_assumed_where_nothing_is_known() {
        assert_eq!(kept(None), DAY);
        assert_eq!(kept(Some(&topic("?"))), DAY);
        assert_eq!(kept(Some(&topic("0"))), Duration::ZERO);
        assert_eq!(kept(Some(&topic("604800000"))), 7 * DAY);
        let for_ever = kept(Some(&topic("9223372036854775807")));
        let followed = Followed {
            until: at(DAY),
            kept: for_ever,
        };
        assert_eq!(objection(Some(followed), for_ever, at(1000 * DAY)), None);
    }

    #[test]
    fn a_store_may_be_as_old_as_deletions_are_kept_less_what_clocks_differ() {
        let begun = 100 * DAY;
        let objection = |age: Duration, then: Duration, now: Duration| {
            let followed = Followed {
                until: at(begun),
                kept: then,
            };
            objection(Some(followed), now, at(begun + age))
        };
        assert_eq!(objection(23 * HOUR, DAY, DAY), None);
        assert_eq!(
            objection(25 * HOUR, DAY, DAY).unwrap(),
            "it was up to date 1day 1h ago. Its changelog keeps deletions for 1day (`delete.retention.ms`), less 1h for clocks \
             that differ, so that it may have missed some. Where instances are away for longer, set more"
        );
        assert_eq!(objection(25 * HOUR, 7 * DAY, 7 * DAY), None);
        // Neither a time that was shorter once nor one that is shorter now is enough.
        assert!(objection(2 * HOUR, HOUR, DAY).is_some());
        assert!(objection(2 * HOUR, DAY, HOUR).is_some());
        assert_eq!(objection(Duration::ZERO, Duration::ZERO, DAY), None);
        assert!(objection(Duration::from_millis(1), DAY, Duration::ZERO).is_some());
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_make_a_store_young() {
        let followed = |until| {
            Some(Followed {
                until: at(until),
                kept: DAY,
            })
        };
        assert_eq!(objection(followed(2 * DAY), DAY, at(47 * HOUR)), None);
        let told = objection(followed(2 * DAY), DAY, at(46 * HOUR)).unwrap();
        assert!(told.contains("2h from now"), "{told}");
        assert!(objection(None, DAY, at(DAY)).is_some());
    }

    #[test]
    fn idle_stores_are_told_to_be_up_to_date_often_enough_and_not_too_often() {
        assert_eq!(interval(DAY), HOUR);
        assert_eq!(interval(Duration::ZERO), LEAST);
        let lost = interval(HOUR);
        assert!(lost + HOUR / MARGIN < HOUR / 2, "{lost:?}");
    }
}
