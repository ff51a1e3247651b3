//! Administration.

use std::sync::Arc;

use super::{
    core::Shared,
    driver::Verb,
    group::{CommitNumber, GroupState},
    link::Link,
    queue::out_of_range,
};
use crate::{
    clock::BoxFuture,
    cluster::{
        Admin, ClusterError, ClusterErrorKind, CommittedOffset, MemberDescription, NewTopic, Operation,
        Operations, Resource, Result, TopicDescription,
    },
    record::{Offset, TopicPartition},
};

/// Administers the cluster.
pub(super) struct EmbeddedAdmin {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Link,
}

impl EmbeddedAdmin {
    fn call<T: Send + 'static>(
        &self,
        request: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let shared = self.shared.clone();
        Box::pin(self.link.call(Verb::Admin, move || request(&shared)))
    }
}

impl Admin for EmbeddedAdmin {
    fn describe(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Option<TopicDescription>>>> {
        self.call(move |shared| {
            shared.with(|core| {
                for name in &topics {
                    core.denials
                        .check(&Resource::Topic(name.clone()), Operation::Describe)?;
                }
                Ok(topics.iter().map(|name| core.topics.describe(name)).collect())
            })
        })
    }

    fn identify(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Option<TopicDescription>>>> {
        Box::pin(async move {
            let mut found = self.describe(topics).await?;
            // Whoever needs the settings is to notice here, too, that it has not asked for them.
            found.iter_mut().flatten().for_each(|topic| topic.config.clear());
            Ok(found)
        })
    }

    fn create(&mut self, topics: Vec<NewTopic>) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        self.call(move |shared| {
            let create = |new| {
                shared.with(|core| {
                    core.denials.check(&Resource::Cluster, Operation::Create)?;
                    core.create_topic(&*shared.driver, new)
                })
            };
            Ok(topics.iter().map(create).collect())
        })
    }

    fn try_create(&mut self, topics: Vec<NewTopic>) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        self.call(move |shared| {
            let check = |new| {
                shared.with(|core| {
                    core.denials.check(&Resource::Cluster, Operation::Create)?;
                    core.topics.check_new(new).map(drop)
                })
            };
            Ok(topics.iter().map(check).collect())
        })
    }

    fn access(&mut self, to: Vec<Resource>) -> BoxFuture<'_, Result<Vec<Option<Operations>>>> {
        self.call(move |shared| {
            Ok(shared.with(|core| {
                to.iter()
                    .map(|resource| match resource {
                        // As Kafka has it: of what is not there, nothing is said.
                        Resource::Topic(name) if core.topics.get(name).is_none() => {
                            let hidden = core.denials.check(resource, Operation::Describe).is_err();
                            hidden.then(Operations::new)
                        }
                        Resource::TransactionalIds(_) => None,
                        _ => Some(core.denials.allowed(resource)),
                    })
                    .collect()
            }))
        })
    }

    fn group_members(&mut self, group: String) -> BoxFuture<'_, Result<Vec<MemberDescription>>> {
        self.call(move |shared| {
            shared.with(|core| {
                let resource = Resource::Group(group.as_str().into());
                core.denials.check(&resource, Operation::Describe)?;
                let members = core.groups.get(&group).map(GroupState::describe);
                Ok(members.unwrap_or_default())
            })
        })
    }

    fn delete(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        self.call(move |shared| {
            let delete = |name| shared.with(|core| core.delete_topic(&*shared.driver, name));
            Ok(topics.iter().map(delete).collect())
        })
    }

    fn delete_records(&mut self, before: Vec<(TopicPartition, Offset)>) -> BoxFuture<'_, Result<()>> {
        self.call(move |shared| {
            shared.with(|core| {
                for (place, offset) in before {
                    core.topics.check_deletable(&place)?;
                    let deleted = core.topics.log_mut(&place)?.delete_before(offset);
                    let gone = deleted.map_err(|range| out_of_range(&place, offset, &range))?;
                    core.drop_later(gone);
                }
                Ok(())
            })
        })
    }

    fn group_offsets(
        &mut self,
        group: String,
    ) -> BoxFuture<'_, Result<Vec<(TopicPartition, CommittedOffset)>>> {
        self.call(move |shared| {
            Ok(shared.with(|core| {
                let offsets = core.groups.get(&group).map(|group| &group.offsets);
                let offsets = offsets.into_iter().flatten();
                offsets
                    .map(|(place, offset)| (place.clone(), offset.clone()))
                    .collect()
            }))
        })
    }

    fn set_group_offsets(
        &mut self,
        group: String,
        offsets: Vec<(TopicPartition, Option<Offset>)>,
    ) -> BoxFuture<'_, Result<()>> {
        self.call(move |shared| {
            shared.with(|core| {
                let number = CommitNumber(core.number());
                let state = core.groups.entry(group.clone()).or_default();
                if !state.is_empty() {
                    let message = format_args!(
                        "group `{group}` has members: stop all its instances before its offsets are changed"
                    );
                    return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
                }
                for (place, next) in offsets {
                    match next {
                        Some(next) => {
                            let metadata = String::new();
                            state.put(number, place, CommittedOffset { next, metadata });
                        }
                        None => drop(state.offsets.remove(&place)),
                    }
                }
                Ok(())
            })
        })
    }
}
