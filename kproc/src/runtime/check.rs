//! Before anything is joined or opened: are the topics as the application needs them? All faults are told at
//! once, each with its cure; then the changelogs that are missing are made.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::Mutex;

use super::{
    error::{BEGIN_ANEW, RunError},
    learn::learn,
    patience::retried,
    plan::Plan,
};
use crate::{
    clock::Clock,
    cluster::{Admin, Cluster, ClusterErrorKind, NewTopic, TopicDescription},
};

/// A changelog that the application needs.
struct Needed {
    topic: Arc<str>,
    /// The number of its processor.
    processor: usize,
    /// The number of its group.
    group: usize,
}

/// Checks, and makes the changelogs. Says how many partitions each group has.
pub(super) async fn check(
    plan: &Plan,
    cluster: &dyn Cluster,
    clock: &dyn Clock,
) -> Result<Vec<u32>, RunError> {
    let mut admin = cluster
        .admin()
        .map_err(|error| RunError::cluster("cannot reach the cluster", &error))?;
    let mut check = Check {
        plan,
        found: BTreeMap::new(),
        faults: Vec::new(),
    };
    let changelogs = changelogs(plan);
    let mut names: Vec<Arc<str>> = check.inputs().map(|(_, topic)| topic).collect();
    names.extend(changelogs.iter().map(|needed| needed.topic.clone()));
    // What they take is worth knowing; they need not be there yet.
    names.extend(plan.topology.outputs());
    names.sort();
    names.dedup();
    check.found = describe(plan, &mut *admin, clock, &names).await?;

    let counts = check.partitions_of_groups();
    let missing = check.changelogs(&changelogs, &counts);
    if !missing.is_empty() && check.faults.is_empty() {
        let begun = begun(plan, cluster, clock).await?;
        check.missing(&missing, &begun);
    }
    if !check.faults.is_empty() {
        return Err(RunError::Check(check.faults));
    }
    create(plan, &mut *admin, clock, missing).await?;
    // Without faults, all are known.
    Ok(counts.into_iter().flatten().collect())
}

/// Topics of which the group has committed an offset.
async fn begun(plan: &Plan, cluster: &dyn Cluster, clock: &dyn Clock) -> Result<Vec<Arc<str>>, RunError> {
    let group = &plan.topology.app;
    let offsets = retried(clock, plan.settings.patience, || async {
        cluster.admin()?.group_offsets(group.to_string()).await
    });
    match offsets.await {
        Ok(offsets) => Ok(offsets
            .into_iter()
            .map(|(partition, _)| partition.topic)
            .collect()),
        Err(error) => Err(RunError::cluster(
            "cannot ask for the group's committed offsets",
            &error,
        )),
    }
}

/// The changelogs of all stores that have one.
fn changelogs(plan: &Plan) -> Vec<Needed> {
    let topology = &plan.topology;
    let mut needed = Vec::new();
    for (group, tasks) in topology.groups.iter().enumerate() {
        for &processor in &tasks.processors {
            for (store, (_, options)) in topology.processors[processor].stores.iter().enumerate() {
                if options.changelog {
                    let topic = topology.changelog(processor, store);
                    needed.push(Needed {
                        topic,
                        processor,
                        group,
                    });
                }
            }
        }
    }
    needed
}

async fn describe(
    plan: &Plan,
    admin: &mut dyn Admin,
    clock: &dyn Clock,
    names: &[Arc<str>],
) -> Result<BTreeMap<Arc<str>, TopicDescription>, RunError> {
    // A mutex, for each try needs the administrator to itself.
    let admin = Mutex::new(admin);
    let described = retried(clock, plan.settings.patience, || async {
        admin.lock().await.describe(names.to_vec()).await
    });
    match described.await {
        Ok(found) => {
            learn(plan.topology.bindings.limits(), found.iter().flatten());
            Ok(found
                .into_iter()
                .flatten()
                .map(|topic| (topic.name.clone(), topic))
                .collect())
        }
        Err(error) => Err(RunError::cluster(
            "cannot ask for the description of topics",
            &error,
        )),
    }
}

struct Check<'p> {
    plan: &'p Plan,
    found: BTreeMap<Arc<str>, TopicDescription>,
    faults: Vec<String>,
}

impl Check<'_> {
    /// The inputs, by the number of their group.
    fn inputs(&self) -> impl Iterator<Item = (usize, Arc<str>)> {
        let topology = &*self.plan.topology;
        topology
            .groups
            .iter()
            .enumerate()
            .flat_map(move |(number, group)| {
                group
                    .inputs
                    .iter()
                    .map(move |input| (number, topology.bound(&input.name)))
            })
    }

    fn readers(&self, group: usize) -> String {
        let names = self.plan.topology.groups[group].processors.iter();
        let names: Vec<_> = names
            .map(|processor| format!("`{}`", self.plan.topology.processors[*processor].name))
            .collect();
        names.join(", ")
    }

    /// How many partitions each group has; `None` where that cannot be said.
    fn partitions_of_groups(&mut self) -> Vec<Option<u32>> {
        let mut counts = Vec::new();
        for group in 0..self.plan.topology.groups.len() {
            let topics: Vec<Arc<str>> = self
                .inputs()
                .filter(|(number, _)| *number == group)
                .map(|(_, topic)| topic)
                .collect();
            let mut partitions: Vec<(Arc<str>, u32)> = Vec::new();
            for topic in topics {
                match self.found.get(&topic) {
                    Some(found) => partitions.push((topic, found.partitions)),
                    None => self.faults.push(format!(
                        "topic `{topic}` does not exist, and is read by {}: make it (the command `topics` shows all that are needed)",
                        self.readers(group)
                    )),
                }
            }
            let first = partitions.first().map(|(_, count)| *count);
            if partitions.iter().any(|(_, count)| Some(*count) != first) {
                let counts: Vec<String> = partitions
                    .iter()
                    .map(|(topic, count)| format!("`{topic}` has {count}"))
                    .collect();
                self.faults.push(format!(
                    "topics that are read together must have the same number of partitions, and of those read by \
                     {} {}: equal keys would not meet. Make them anew with equal numbers",
                    self.readers(group),
                    counts.join(", ")
                ));
                partitions.clear();
            }
            counts.push(partitions.first().map(|(_, count)| *count));
        }
        counts
    }

    /// The changelogs that are to be made, with their numbers of partitions.
    fn changelogs<'n>(&mut self, needed: &'n [Needed], counts: &[Option<u32>]) -> Vec<(&'n Needed, u32)> {
        let mut missing = Vec::new();
        for needed in needed {
            let Some(count) = counts[needed.group] else {
                continue;
            };
            match self.found.get(&needed.topic) {
                None => missing.push((needed, count)),
                Some(found) => self.existing(needed, found.partitions, count),
            }
        }
        missing
    }

    /// Whoever has committed offsets has had changelogs: those that are missing were lost, or are of new stores.
    fn missing(&mut self, missing: &[(&Needed, u32)], begun: &[Arc<str>]) {
        let topology = &self.plan.topology;
        for (needed, count) in missing {
            let inputs = &topology.groups[needed.group].inputs;
            let Some(input) = inputs
                .iter()
                .map(|input| topology.bound(&input.name))
                .find(|input| begun.contains(input))
            else {
                continue;
            };
            self.faults.push(format!(
                "changelog `{}` does not exist, though the group `{}` has committed offsets of `{input}`: the state \
                 would silently be empty. If the store is new, make the topic, with {count} partitions and \
                 `cleanup.policy=compact`; if the topic was deleted, {BEGIN_ANEW}",
                needed.topic, topology.app
            ));
        }
    }

    /// A changelog that is there must fit.
    fn existing(&mut self, needed: &Needed, found: u32, count: u32) {
        let input = &self.plan.topology.groups[needed.group].inputs[0].name;
        let input = self.plan.topology.bound(input);
        if found != count {
            self.faults.push(format!(
                "changelog `{}` of processor `{}` has {found} partitions, and its input `{input}` has {count}: they must \
                 be equal. If the input was enlarged, go on with a new topic of the former number of partitions; if the \
                 changelog is left over from an earlier application, {BEGIN_ANEW}",
                needed.topic, self.plan.topology.processors[needed.processor].name
            ));
        }
        let policy = self.found[&needed.topic]
            .config
            .iter()
            .find(|(name, _)| name == "cleanup.policy");
        if let Some((_, policy)) = policy
            && !policy.split(',').any(|policy| policy.trim() == "compact")
        {
            self.faults.push(format!(
                "changelog `{}` has `cleanup.policy={policy}`, with which state is lost as it grows old: set it to \
                 `compact`",
                needed.topic
            ));
        }
    }
}

/// Makes the changelogs. Another instance may be doing the same.
async fn create(
    plan: &Plan,
    admin: &mut dyn Admin,
    clock: &dyn Clock,
    missing: Vec<(&Needed, u32)>,
) -> Result<(), RunError> {
    if missing.is_empty() {
        return Ok(());
    }
    let topics: Vec<NewTopic> = missing
        .iter()
        .map(|(needed, count)| NewTopic {
            name: needed.topic.clone(),
            partitions: *count,
            config: vec![("cleanup.policy".to_owned(), "compact".to_owned())],
        })
        .collect();
    let shared = Mutex::new(&mut *admin);
    let created = retried(clock, plan.settings.patience, || async {
        let results = shared.lock().await.create(topics.clone()).await?;
        // One that may succeed later makes the call one that may.
        let errors = results.iter().filter_map(|result| result.as_ref().err());
        match errors
            .into_iter()
            .find(|error| error.kind == ClusterErrorKind::Retriable)
        {
            Some(error) => Err(error.clone()),
            None => Ok(results),
        }
    });
    let created = created
        .await
        .map_err(|error| RunError::cluster("cannot make changelogs", &error))?;
    let faults: Vec<String> = created
        .into_iter()
        .zip(&topics)
        .filter_map(|(result, topic)| {
            let error = result
                .err()
                .filter(|error| error.kind != ClusterErrorKind::TopicExists)?;
            Some(format!("changelog `{}` cannot be made: {error}", topic.name))
        })
        .collect();
    if !faults.is_empty() {
        return Err(RunError::Check(faults));
    }
    // Made by another instance meanwhile: perhaps for other inputs.
    let names: Vec<Arc<str>> = topics.iter().map(|topic| topic.name.clone()).collect();
    let found = describe(plan, admin, clock, &names).await?;
    let mut check = Check {
        plan,
        found,
        faults: Vec::new(),
    };
    for (needed, count) in missing {
        if let Some(found) = check.found.get(&needed.topic).map(|found| found.partitions) {
            check.existing(needed, found, count);
        }
    }
    if check.faults.is_empty() {
        Ok(())
    } else {
        Err(RunError::Check(check.faults))
    }
}
