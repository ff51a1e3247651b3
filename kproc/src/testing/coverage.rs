//! What a simulation has come to: what happened to instances, and what they were in the middle of.
//!
//! A crash in a commit is another one than a crash in a restore; who simulates wants to know that both have come up.

use std::collections::BTreeMap;

use super::exec::Crew;

/// Something that happens, and, unless that is all there is to say, what it comes in the middle of.
pub(crate) type Meeting = (&'static str, Option<&'static str>);

/// See the module.
#[derive(Default)]
pub(crate) struct Coverage {
    /// What each crew is in the middle of, and how many times at once.
    under_way: BTreeMap<(Crew, &'static str), u32>,
    meetings: BTreeMap<Meeting, u64>,
}

impl Coverage {
    pub(super) fn begins(&mut self, crew: Crew, passage: &'static str) {
        *self.under_way.entry((crew, passage)).or_default() += 1;
    }

    pub(super) fn ends(&mut self, crew: Crew, passage: &'static str) {
        if let Some(times) = self.under_way.get_mut(&(crew, passage)) {
            *times -= 1;
        }
    }

    /// Something happens to a crew; `None`: to nobody, or to all.
    pub(super) fn happens(&mut self, crew: Option<Crew>, what: &'static str) {
        *self.meetings.entry((what, None)).or_default() += 1;
        for ((whose, passage), times) in &self.under_way {
            if crew.is_none_or(|crew| crew == *whose) && *times > 0 {
                *self.meetings.entry((what, Some(passage))).or_default() += 1;
            }
        }
    }

    /// How often what has come in the middle of what.
    pub(super) fn meetings(&self) -> &BTreeMap<Meeting, u64> {
        &self.meetings
    }
}

#[test]
fn what_happens_is_counted_by_what_it_meets() {
    let mut coverage = Coverage::default();
    let (one, other) = (Crew(1), Crew(2));
    coverage.begins(one, "a commit");
    coverage.begins(one, "a commit");
    coverage.ends(one, "a commit");
    coverage.happens(Some(one), "a crash");
    coverage.happens(Some(other), "a crash");
    coverage.ends(one, "a commit");
    coverage.happens(None, "a crash");
    let expected = [(("a crash", None), 3), (("a crash", Some("a commit")), 1)];
    assert_eq!(*coverage.meetings(), BTreeMap::from(expected));
}
