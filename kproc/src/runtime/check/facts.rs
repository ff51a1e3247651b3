//! What the cluster says of the application's topics, its group and its permissions.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::Mutex;

use super::{
    super::{committed, error::RunError, learn::learn, patience::retried, plan::Plan},
    changelogs::Needed,
};
use crate::{
    clock::Clock,
    cluster::{
        Admin, Cluster, ClusterError, ClusterErrorKind, MemberDescription, Operation, Operations, Resource,
        Result as Answer, TopicDescription,
    },
    mark::Mark,
};

/// See the module.
pub(super) struct Facts {
    /// Asked one question at a time.
    admin: Mutex<Box<dyn Admin>>,
    /// The topics that are there and may be seen.
    pub(super) topics: BTreeMap<Arc<str>, TopicDescription>,
    /// The topics that may not be seen: whether they are there is not known.
    pub(super) hidden: Vec<Arc<str>>,
    /// What may be done; of what is missing here, the cluster says nothing.
    pub(super) access: BTreeMap<Resource, Operations>,
    /// The stores that the application had when it committed.
    pub(super) known: Vec<Mark>,
    /// Who the cluster takes us for.
    pub(super) principal: Option<String>,
    /// Whether outputs make themselves.
    pub(super) makes_outputs: bool,
}

impl Facts {
    /// Nothing was asked yet.
    pub(super) fn none(cluster: &dyn Cluster) -> Result<Self, RunError> {
        let admin = cluster
            .admin()
            .map_err(|error| RunError::cluster("cannot reach the cluster", &error))?;
        Ok(Self {
            admin: Mutex::new(admin),
            topics: BTreeMap::new(),
            hidden: Vec::new(),
            access: BTreeMap::new(),
            known: Vec::new(),
            principal: cluster.principal(),
            makes_outputs: cluster.makes_outputs(),
        })
    }

    /// Asks for all of it.
    pub(super) async fn ask(
        plan: &Plan,
        cluster: &dyn Cluster,
        clock: &dyn Clock,
        needed: &[Needed],
    ) -> Result<Self, RunError> {
        let mut facts = Self::none(cluster)?;
        // Before the topics: whoever has committed with a store had made its changelog before. Asked in the other order,
        // one that was made meanwhile, by an instance that starts at the same time, would seem to be deleted.
        facts.find_known(plan, clock).await?;
        let topology = &plan.topology;
        let mut names: Vec<Arc<str>> = topology.inputs().chain(topology.outputs()).collect();
        names.extend(needed.iter().map(|needed| needed.topic.clone()));
        names.sort();
        names.dedup();
        facts.describe(plan, clock, &names).await?;
        let mut resources: Vec<Resource> = names.into_iter().map(Resource::Topic).collect();
        resources.extend([Resource::Group(topology.app.clone()), Resource::Cluster]);
        facts.find_access(plan, clock, resources).await?;
        Ok(facts)
    }

    /// Asks a question again and again until it is answered.
    pub(super) async fn put<T>(
        &self,
        plan: &Plan,
        clock: &dyn Clock,
        question: impl AsyncFn(&mut dyn Admin) -> Answer<T>,
    ) -> Answer<T> {
        retried(clock, plan.settings.patience, async || {
            question(&mut **self.admin.lock().await).await
        })
        .await
    }

    /// Looks at these topics, and adds what there is.
    pub(super) async fn describe(
        &mut self,
        plan: &Plan,
        clock: &dyn Clock,
        names: &[Arc<str>],
    ) -> Result<(), RunError> {
        let refused =
            |error: &ClusterError| RunError::cluster("cannot ask for the description of topics", error);
        let mut found = match self
            .put(plan, clock, async |admin| admin.describe(names.to_vec()).await)
            .await
        {
            Ok(found) => found,
            // One of them may not be seen: which?
            Err(error) if error.kind == ClusterErrorKind::Unauthorized => {
                let mut found = Vec::new();
                for name in names {
                    match self
                        .put(plan, clock, async |admin| {
                            admin.describe(vec![name.clone()]).await
                        })
                        .await
                    {
                        Ok(one) => found.extend(one),
                        Err(error) if error.kind == ClusterErrorKind::Unauthorized => {
                            self.hidden.push(name.clone());
                        }
                        Err(error) => return Err(refused(&error)),
                    }
                }
                found
            }
            Err(error) => return Err(refused(&error)),
        };
        learn(plan.topology.bindings.limits(), found.iter().flatten());
        let found = found.drain(..).flatten();
        self.topics.extend(found.map(|topic| (topic.name.clone(), topic)));
        Ok(())
    }

    async fn find_access(
        &mut self,
        plan: &Plan,
        clock: &dyn Clock,
        resources: Vec<Resource>,
    ) -> Result<(), RunError> {
        let answer = self
            .put(plan, clock, async |admin| admin.access(resources.clone()).await)
            .await;
        match answer {
            Ok(access) => {
                let said = resources.into_iter().zip(access);
                let said = said.filter_map(|(resource, said)| Some((resource, said?)));
                // What was refused already is denied, whatever is said.
                let denied = std::mem::replace(&mut self.access, said.collect());
                self.access.extend(denied);
                Ok(())
            }
            Err(error) => Err(RunError::cluster("cannot ask for permissions", &error)),
        }
    }

    /// Which stores the group's committed offsets tell of.
    async fn find_known(&mut self, plan: &Plan, clock: &dyn Clock) -> Result<(), RunError> {
        let group = plan.topology.app.to_string();
        let answer = self
            .put(plan, clock, async |admin| {
                admin.group_offsets(group.clone()).await
            })
            .await;
        match answer {
            Ok(offsets) => {
                let marks = offsets
                    .iter()
                    .flat_map(|(_, committed)| committed::stores(&committed.metadata));
                self.known = marks.collect();
                self.known.sort_unstable();
                self.known.dedup();
                Ok(())
            }
            // That is told with the other permissions.
            Err(error) if error.kind == ClusterErrorKind::Unauthorized => {
                self.deny(Resource::Group(plan.topology.app.clone()));
                Ok(())
            }
            Err(error) => Err(RunError::cluster(
                "cannot ask for the group's committed offsets",
                &error,
            )),
        }
    }

    /// The members of the group; none, if they may not be seen.
    pub(super) async fn members(
        &self,
        plan: &Plan,
        clock: &dyn Clock,
    ) -> Result<Vec<MemberDescription>, RunError> {
        let group = plan.topology.app.to_string();
        let answer = self
            .put(plan, clock, async |admin| {
                admin.group_members(group.clone()).await
            })
            .await;
        match answer {
            Ok(members) => Ok(members),
            Err(error) if error.kind == ClusterErrorKind::Unauthorized => Ok(Vec::new()),
            Err(error) => Err(RunError::cluster("cannot ask for the group's members", &error)),
        }
    }

    /// Whether this may be done, as far as the cluster says.
    pub(super) fn allows(&self, resource: &Resource, operation: Operation) -> bool {
        let said = self.access.get(resource);
        said.is_none_or(|allowed| allowed.contains(&operation))
    }

    fn deny(&mut self, resource: Resource) {
        self.access.insert(resource, Operations::new());
    }

    /// How to give a permission.
    pub(super) fn grant(&self, resource: &Resource, operations: &[Operation]) -> String {
        resource.grant(self.principal.as_deref(), operations)
    }
}
