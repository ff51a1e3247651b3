//! Which topics state and offsets are of. A topic that was deleted and made again has its old name, and nothing that
//! is known of the old one is true of it: neither offsets nor state.
//!
//! The id of each topic is noted with the state (whole), and with each committed offset (a mark of it, and how many
//! partitions there were). An offset without a note was set by a person, and counts as it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use kproc_store::Environment;
use tokio::sync::Mutex;

use super::{
    error::{BEGIN_ANEW, RunError},
    patience::retried,
    plan::Plan,
};
use crate::{
    clock::Clock,
    cluster::{Admin, Cluster, Result, TopicDescription},
    mark::Mark,
    record::{Partition, TopicPartition},
};

/// Which of all topics that ever had its name a topic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    mark: Mark,
    /// How many partitions it had.
    pub(super) partitions: u32,
}

impl From<&TopicDescription> for Origin {
    fn from(topic: &TopicDescription) -> Self {
        Self {
            mark: Mark::of(&topic.id.to_string()),
            partitions: topic.partitions,
        }
    }
}

impl Origin {
    /// Whether both are of one topic, which may have grown.
    pub(super) fn is_same(self, other: Self) -> bool {
        self.mark == other.mark
    }

    /// Whether there was such a partition.
    pub(super) fn had(self, partition: Partition) -> bool {
        partition.get() < self.partitions
    }

    /// What [`Display`](fmt::Display) has written.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mark, partitions) = text.split_once('.')?;
        let marks = Mark::all_in(mark)?;
        let [mark] = marks[..] else { return None };
        Some(Self {
            mark,
            partitions: partitions.parse().ok()?,
        })
    }
}

/// As it is kept with a committed offset.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.mark, self.partitions)
    }
}

/// Asks the cluster for topics, with one connection for all who ask.
pub(super) struct Asker {
    cluster: Arc<dyn Cluster>,
    admin: Mutex<Option<Box<dyn Admin>>>,
    /// How many have asked for the topics of tasks.
    askers: AtomicU64,
    /// What they were told last.
    told: Mutex<Told>,
}

/// An answer, and how many had asked when it was asked for: it is for all of them.
struct Told {
    askers: u64,
    answer: std::result::Result<Arc<Found>, RunError>,
}

/// Topics, by their names in the cluster.
pub(super) type Found = BTreeMap<Arc<str>, TopicDescription>;

impl Asker {
    pub(super) fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self {
            cluster,
            admin: Mutex::new(None),
            askers: AtomicU64::new(0),
            told: Mutex::new(Told {
                askers: 0,
                answer: Ok(Arc::default()),
            }),
        }
    }

    /// Those of the topics that are there, without their settings.
    pub(super) async fn identify(&self, topics: Vec<Arc<str>>) -> Result<Found> {
        self.ask(async |admin| admin.identify(topics).await).await
    }

    /// Those of the topics that are there, with their settings.
    pub(super) async fn describe(&self, topics: Vec<Arc<str>>) -> Result<Found> {
        self.ask(async |admin| admin.describe(topics).await).await
    }

    async fn ask(
        &self,
        question: impl AsyncFnOnce(&mut dyn Admin) -> Result<Vec<Option<TopicDescription>>>,
    ) -> Result<Found> {
        let mut admin = self.admin.lock().await;
        let admin = match &mut *admin {
            Some(admin) => admin,
            none => none.insert(self.cluster.admin()?),
        };
        let found = question(&mut **admin).await?;
        let named = |topic: TopicDescription| (topic.name.clone(), topic);
        Ok(found.into_iter().flatten().map(named).collect())
    }

    /// The topics that tasks need, changelogs with their settings; those that are there. Asks for as long as it helps. All
    /// who come while somebody waits for an answer get the next one together: many tasks begin at the same time, and their
    /// topics are the same.
    pub(super) async fn of_tasks(
        &self,
        plan: &Plan,
        clock: &dyn Clock,
    ) -> std::result::Result<Arc<Found>, RunError> {
        let number = self.askers.fetch_add(1, SeqCst) + 1;
        let mut told = self.told.lock().await;
        if told.askers < number {
            let askers = self.askers.load(SeqCst);
            let answer = retried(clock, plan.settings.patience, || self.ask_for_tasks(plan)).await;
            let answer = answer
                .map(Arc::new)
                .map_err(|error| RunError::cluster("cannot ask which topics there are", &error));
            *told = Told { askers, answer };
        }
        told.answer.clone()
    }

    async fn ask_for_tasks(&self, plan: &Plan) -> Result<Found> {
        let sorted = |names: &mut dyn Iterator<Item = Arc<str>>| {
            let names: BTreeSet<Arc<str>> = names.collect();
            names.into_iter().collect::<Vec<_>>()
        };
        let changelogs = sorted(&mut plan.topology.changelogs());
        let mut found = self.identify(sorted(&mut plan.topology.inputs())).await?;
        if !changelogs.is_empty() {
            found.extend(self.describe(changelogs).await?);
        }
        Ok(found)
    }
}

/// Whether the state of an environment is of another topic than the one that has the name now.
pub(super) fn is_of_another(
    environment: &Environment,
    topic: &TopicDescription,
) -> std::result::Result<bool, kproc_store::StoreError> {
    let noted = environment.origin(&topic.name)?;
    Ok(noted.is_some_and(|noted| noted != topic.id.as_u128()))
}

/// Notes which topics an environment is of, if that is news.
pub(super) fn note<'t>(
    environment: &Environment,
    topics: impl Iterator<Item = &'t TopicDescription>,
) -> std::result::Result<(), kproc_store::StoreError> {
    let mut news = Vec::new();
    for topic in topics {
        if environment.origin(&topic.name)? != Some(topic.id.as_u128()) {
            news.push((&*topic.name, topic.id.as_u128()));
        }
    }
    if news.is_empty() {
        return Ok(());
    }
    environment.note_origins(&news)
}

/// A topic is gone while somebody runs who needs it.
pub(super) fn deleted(topic: &str) -> RunError {
    RunError::Topic {
        topic: topic.to_owned(),
        reason: format!(
            "it was deleted while the application ran. Make it again and start again; if the application has state, \
             that of the old topic must not be mixed with the new one: {BEGIN_ANEW}"
        ),
    }
}

/// A topic is another one than before, as was seen while somebody runs.
pub(super) fn made_again(topic: &str) -> RunError {
    RunError::Topic {
        topic: topic.to_owned(),
        reason: format!(
            "it was deleted and made again while the application ran: offsets and state are of the old one. To go on \
             with the new topic, {BEGIN_ANEW}"
        ),
    }
}

/// The state or the offsets of an input are of an older topic of its name.
pub(super) fn of_the_old_one(input: &TopicPartition, what: &str) -> RunError {
    RunError::Topic {
        topic: input.topic.to_string(),
        reason: format!(
            "it was deleted and made again: {what} of {input} is of the old topic. To process the records of the new \
             one on top of the present state, set the group's offsets of all its partitions (with `kafka-consumer-groups \
             --reset-offsets --to-earliest`); or {BEGIN_ANEW}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(id: u128, partitions: u32) -> Origin {
        Origin::from(&TopicDescription {
            name: "t".into(),
            id: uuid::Uuid::from_u128(id),
            partitions,
            config: Vec::new(),
        })
    }

    #[test]
    fn what_was_written_is_read() {
        let origin = topic(7, 12);
        assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
        for foreign in ["", "AAAA", "AAAA.", "AAAAA.1", "AAAA.x", ".1", "AAAABBBB.1"] {
            assert_eq!(Origin::parse(foreign), None, "{foreign:?}");
        }
    }

    #[test]
    fn c21_a_topic_may_grow_and_is_another_one_when_made_again() {
        assert!(topic(7, 2).is_same(topic(7, 4)));
        assert!(!topic(7, 2).is_same(topic(8, 2)));
        assert!(topic(7, 2).had(Partition::new(1)) && !topic(7, 2).had(Partition::new(2)));
    }
}
