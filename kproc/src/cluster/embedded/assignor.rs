//! Who gets which partitions: Kafka's `range` assignor.

use std::{collections::BTreeMap, sync::Arc};

use crate::record::{Partition, TopicPartition};

/// Shares each topic's partitions among the members that want it, in ranges, the first members getting one more.
/// Topics with equal counts and the same members are therefore shared alike: partitions of equal number go to
/// the same member.
///
/// `members` are in the order in which they are served; `counts` are the partitions of each topic.
pub(super) fn range<M: Copy>(
    members: &[(M, &[Arc<str>])],
    counts: &BTreeMap<Arc<str>, u32>,
) -> BTreeMap<TopicPartition, M> {
    let mut target = BTreeMap::new();
    for (topic, &count) in counts {
        let takers: Vec<M> = members
            .iter()
            .filter(|(_, topics)| topics.contains(topic))
            .map(|(member, _)| *member)
            .collect();
        if takers.is_empty() {
            continue;
        }
        let (each, more) = (count / takers.len() as u32, count % takers.len() as u32);
        let mut next = 0;
        for (place, member) in (0..).zip(takers) {
            for number in next..next + each + u32::from(place < more) {
                target.insert(TopicPartition::new(topic.clone(), Partition::new(number)), member);
            }
            next += each + u32::from(place < more);
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(topics: &[(&str, u32)], wanted: &[&[&str]]) -> Vec<String> {
        let counts = topics
            .iter()
            .map(|(name, count)| (Arc::from(*name), *count))
            .collect();
        let wanted: Vec<Vec<Arc<str>>> = wanted
            .iter()
            .map(|topics| topics.iter().map(|name| Arc::from(*name)).collect())
            .collect();
        let members: Vec<_> = wanted
            .iter()
            .enumerate()
            .map(|(i, topics)| (i, &topics[..]))
            .collect();
        let target = range(&members, &counts);
        let share = |member: usize| {
            let own = target.iter().filter(|(_, owner)| **owner == member);
            own.map(|(partition, _)| partition.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        (0..members.len()).map(share).collect()
    }

    #[test]
    fn one_member_gets_all() {
        assert_eq!(shares(&[("a", 2), ("b", 1)], &[&["a", "b"]]), ["a[0] a[1] b[0]"]);
    }

    #[test]
    fn equal_numbers_go_to_the_same_member() {
        let both: &[&str] = &["a", "b"];
        assert_eq!(
            shares(&[("a", 3), ("b", 3)], &[both, both]),
            ["a[0] a[1] b[0] b[1]", "a[2] b[2]"]
        );
    }

    #[test]
    fn c07_five_partitions_three_members() {
        let a: &[&str] = &["a"];
        assert_eq!(
            shares(&[("a", 5)], &[a, a, a]),
            ["a[0] a[1]", "a[2] a[3]", "a[4]"]
        );
    }

    #[test]
    fn c08_more_members_than_partitions() {
        let a: &[&str] = &["a"];
        assert_eq!(shares(&[("a", 1)], &[a, a, a]), ["a[0]", "", ""]);
    }

    #[test]
    fn topics_that_nobody_wants_or_that_are_not_there() {
        assert_eq!(shares(&[("a", 1)], &[&["b"]]), [""]);
        assert_eq!(
            shares(&[("a", 2), ("b", 1)], &[&["a"], &["a", "b"]]),
            ["a[0]", "a[1] b[0]"]
        );
    }
}
