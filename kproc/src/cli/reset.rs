//! `reset`: the application begins anew, without what it has kept and committed.
//!
//! The order of its steps is such that one that is interrupted harms nobody: local state goes first (it can be restored),
//! then the changelogs, then the committed offsets. With changelogs gone and offsets there, an application does not start.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::PathBuf,
    sync::Arc,
};

use kproc_store::Environment;

use super::{
    args::{ResetArgs, Where},
    cluster,
    failure::Failure,
    names,
    state::environments_in,
};
use crate::{
    app::{App, state_dir},
    clock::Clock,
    cluster::{self as verbs, Admin, Cluster, Isolation},
    config::{Settings, did_you_mean, nearest},
    processor::Start,
    record::{Offset, Partition, TopicPartition},
    runtime::retried,
    topology::Topology,
};

/// Shows what is to be done, and does it if that was asked for.
pub(crate) fn reset(app: &App, settings: &Settings, args: &ResetArgs) -> Result<(), Failure> {
    let topology = names::topology(app, settings)?;
    check_topics(&topology, args)?;
    let state_dir = state_dir(settings).join(&*topology.app);
    cluster::on(app, settings, async |cluster, clock| {
        let work = Work::find(&topology, cluster, clock, settings, args, state_dir).await?;
        let text = work.text(&topology);
        if !args.yes {
            return Err(Failure::usage(format!(
                "{text}Nothing was changed. To do this, add `--yes`"
            )));
        }
        tracing::info!("{}", text.trim_end());
        work.do_it(&topology, cluster, clock).await?;
        tracing::info!(
            "done. What the application has written to its outputs stays. If other machines have state of before, remove \
             their state directories, too: an instance that finds it there does not start"
        );
        Ok(())
    })
}

/// Topics are named as in the program, and must be read.
fn check_topics(topology: &Topology, args: &ResetArgs) -> Result<(), Failure> {
    let inputs = || {
        topology
            .groups
            .iter()
            .flat_map(|group| &group.inputs)
            .map(|input| &*input.name)
    };
    for (topic, _) in &args.to {
        if let Some(topic) = topic
            && !inputs().any(|input| input == topic)
        {
            let near = did_you_mean(nearest(topic, inputs()));
            return Err(Failure::usage(format!(
                "no processor reads a topic `{topic}`{near}"
            )));
        }
    }
    Ok(())
}

/// An input, and where it begins anew.
struct Input {
    topic: Arc<str>,
    /// The application writes it, too.
    own: bool,
    /// `None`: where the processors say, as at the first start.
    place: Option<Where>,
    start: Start,
    partitions: u32,
}

/// What there is to do.
struct Work {
    /// Directories of environments.
    state: Vec<PathBuf>,
    state_dir: PathBuf,
    changelogs: Vec<Arc<str>>,
    inputs: Vec<Input>,
    offsets: Vec<(TopicPartition, Option<Offset>)>,
}

impl Work {
    /// Looks at what there is. Refuses if the application runs.
    async fn find(
        topology: &Topology,
        cluster: &dyn Cluster,
        clock: &dyn Clock,
        settings: &Settings,
        args: &ResetArgs,
        state_dir: PathBuf,
    ) -> Result<Self, Failure> {
        let failed = |error| {
            let why = cluster::why(&error, settings);
            Failure::run(format!("cannot look at what is to be reset: {why}"))
        };
        let group = &topology.app;
        let members = retried(clock, cluster::PATIENCE, || async {
            cluster.admin()?.group_members(group.to_string()).await
        });
        let hosts: BTreeSet<_> = members
            .await
            .map_err(failed)?
            .into_iter()
            .map(|it| it.host)
            .collect();
        if !hosts.is_empty() {
            return Err(Failure::run(format!(
                "the application is running: the group `{group}` has members at {}. Stop all instances first; one that \
                 was killed is a member until its session is over",
                hosts.into_iter().collect::<Vec<_>>().join(", ")
            )));
        }
        let mut work = Self {
            state: environments_in(&state_dir)?,
            state_dir,
            changelogs: Vec::new(),
            inputs: Vec::new(),
            offsets: Vec::new(),
        };
        let found = retried(clock, cluster::PATIENCE, || work.look(topology, cluster, args));
        (work.changelogs, work.inputs, work.offsets) = found.await.map_err(failed)?;
        Ok(work)
    }

    async fn look(
        &self,
        topology: &Topology,
        cluster: &dyn Cluster,
        args: &ResetArgs,
    ) -> verbs::Result<(Vec<Arc<str>>, Vec<Input>, Vec<(TopicPartition, Option<Offset>)>)> {
        let mut admin = cluster.admin()?;
        let changelogs: Vec<Arc<str>> = topology.changelogs().collect();
        let there = admin.identify(changelogs.clone()).await?;
        let changelogs = changelogs
            .into_iter()
            .zip(there)
            .filter_map(|(name, found)| found.map(|_| name));
        let inputs = inputs(topology, &mut *admin, args).await?;

        // Whatever the group has committed goes, also for topics that are not read any more.
        let committed = admin.group_offsets(topology.app.to_string()).await?;
        let mut offsets: BTreeMap<_, _> = committed.into_iter().map(|(place, _)| (place, None)).collect();
        let mut reader = cluster.reader(Isolation::ReadCommitted)?;
        for input in &inputs {
            let Some(place) = input.place else { continue };
            for number in 0..input.partitions {
                let partition = TopicPartition::new(input.topic.clone(), Partition::new(number));
                let ends = reader.watermarks(partition.clone()).await?;
                let next = match place {
                    Where::Earliest => ends.earliest,
                    // Nothing that the application has written may be read again, decided or not.
                    Where::Latest if input.own => ends.latest,
                    Where::Latest => ends.stable,
                };
                offsets.insert(partition, Some(next));
            }
        }
        Ok((changelogs.collect(), inputs, offsets.into_iter().collect()))
    }

    /// What will be done, in words.
    fn text(&self, topology: &Topology) -> String {
        let mut text = format!("Resetting `{}`:\n", topology.app);
        let mut line = |what: String| {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "  - {what}");
        };
        match self.state.len() {
            0 => line(format!("there is no state in {}", self.state_dir.display())),
            number => line(format!(
                "the state of {number} partitions of processors in {} is removed",
                self.state_dir.display()
            )),
        }
        for changelog in &self.changelogs {
            line(format!("changelog `{changelog}` is deleted"));
        }
        for input in &self.inputs {
            let place = match (input.place, input.start) {
                (Some(Where::Latest), _) | (None, Start::Latest) => "at its end",
                (Some(Where::Earliest), _) | (None, Start::Earliest) => "at its first record",
            };
            let own = if input.own {
                "; the application itself writes it"
            } else {
                ""
            };
            line(format!("topic `{}` is read from anew {place}{own}", input.topic));
        }
        text
    }

    async fn do_it(
        &self,
        topology: &Topology,
        cluster: &dyn Cluster,
        clock: &dyn Clock,
    ) -> Result<(), Failure> {
        for directory in &self.state {
            Environment::remove(directory).map_err(Failure::run)?;
        }
        // Those that are empty now. Whatever else is in them stays.
        let processors: BTreeSet<_> = self
            .state
            .iter()
            .filter_map(|directory| directory.parent())
            .collect();
        for directory in processors.into_iter().chain([&*self.state_dir]) {
            let _ = fs::remove_dir(directory);
        }
        let again = "what was done is done; once that is mended, run `reset` again, before anything else";
        let deleted = retried(clock, cluster::PATIENCE, || async {
            cluster.admin()?.delete(self.changelogs.clone()).await
        });
        let deleted = deleted
            .await
            .map_err(|error| Failure::run(format!("cannot delete changelogs: {error}; {again}")))?;
        for (topic, result) in self.changelogs.iter().zip(deleted) {
            match result {
                // Deleted by the try before.
                Err(error) if error.kind == verbs::ClusterErrorKind::UnknownTopic => {}
                Err(error) => {
                    return Err(Failure::run(format!(
                        "cannot delete changelog `{topic}`: {error}; {again}"
                    )));
                }
                Ok(()) => {}
            }
        }
        let group = topology.app.to_string();
        let set = retried(clock, cluster::PATIENCE, || async {
            cluster
                .admin()?
                .set_group_offsets(group.clone(), self.offsets.clone())
                .await
        });
        set.await
            .map_err(|error| Failure::run(format!("cannot change the committed offsets: {error}; {again}")))
    }
}

/// The inputs that there are, and where they begin.
async fn inputs(topology: &Topology, admin: &mut dyn Admin, args: &ResetArgs) -> verbs::Result<Vec<Input>> {
    let written: BTreeSet<Arc<str>> = topology.outputs().collect();
    let asked = |name: Option<&str>| {
        let mut asked = args.to.iter().rev();
        asked
            .find(|(topic, _)| topic.as_deref() == name)
            .map(|(_, place)| *place)
    };
    let mut inputs = Vec::new();
    for group in &topology.groups {
        for (topic, start) in group.inputs.iter().zip(&group.starts) {
            let bound = topology.bound(&topic.name);
            let own = written.contains(&bound);
            // What the application wrote in its former life is not to be processed in the next.
            let passed = own.then_some(Where::Latest);
            inputs.push(Input {
                own,
                place: asked(Some(&topic.name)).or(passed).or_else(|| asked(None)),
                start: *start,
                partitions: 0,
                topic: bound,
            });
        }
    }
    let found = admin
        .identify(inputs.iter().map(|input| input.topic.clone()).collect())
        .await?;
    let there = inputs.into_iter().zip(found);
    Ok(there
        .filter_map(|(input, found)| {
            let partitions = found?.partitions;
            Some(Input { partitions, ..input })
        })
        .collect())
}
