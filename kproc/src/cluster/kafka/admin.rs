//! Administration.

use std::{future::ready, sync::Arc, time::Duration};

use super::{
    answer::answer,
    consumer::committed_offset,
    error::{failed, kind_of},
    native::{
        self, Client, Code, GroupInfo, Make, NativeError, PartitionList, alter_group_offsets, cluster_access,
        create_topics, delete_group_offsets, delete_records, delete_topics, describe_config, describe_group,
        describe_topics, group_offsets,
    },
};
use crate::{
    clock::{BoxFuture, Clock},
    cluster::{
        Admin, ClusterError, ClusterErrorKind, CommittedOffset, MemberDescription, NewTopic, Operations,
        Resource, Result, TopicDescription,
    },
    record::{Offset, TopicPartition},
};

/// How long topics may take to be known (or unknown) to all brokers after they were made (or deleted).
const PROPAGATION: Duration = Duration::from_secs(10);

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// Administers a cluster.
pub(super) struct KafkaAdmin {
    client: Arc<Client>,
    clock: Arc<dyn Clock>,
}

impl KafkaAdmin {
    pub(super) fn new(client: Arc<Client>, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock }
    }

    /// Partitions and ids of topics, without their settings.
    async fn topics(&self, names: &[Arc<str>]) -> Result<Vec<Option<TopicDescription>>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let answer = describe_topics(&self.client, names)?.await;
        let mut answer = answer.map_err(|error| failed("describing topics", &error))?;
        let find = |name: &Arc<str>| {
            let Some(place) = answer.iter().position(|(it, _)| **it == **name) else {
                return Ok(None);
            };
            match answer.swap_remove(place).1 {
                Ok(info) => Ok(Some(TopicDescription {
                    name: name.clone(),
                    id: info.id,
                    partitions: info.partitions,
                    config: Vec::new(),
                })),
                Err(error)
                    if matches!(
                        error.code,
                        Code::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
                            | Code::RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION
                    ) =>
                {
                    Ok(None)
                }
                Err(error) => Err(failed(format_args!("describing topic `{name}`"), &error)),
            }
        };
        names.iter().map(find).collect()
    }

    /// Makes topics, or says what would become of it.
    fn make(&self, topics: Vec<NewTopic>, make: Make) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        // What librdkafka would refuse for all of them because of one.
        let (sound, refused): (Vec<_>, Vec<_>) = topics
            .iter()
            .cloned()
            .partition(|topic| topic.partitions > 0 && !topic.name.is_empty());
        let call = if sound.is_empty() {
            None
        } else {
            Some(create_topics(&self.client, &sound, make))
        };
        Box::pin(async move {
            let (made, done) = match call {
                None => (Vec::new(), Vec::new()),
                Some(call) => {
                    let answer = call?.await.map_err(|error| failed("making topics", &error))?;
                    outcomes("making", sound.iter().map(|topic| &topic.name), answer)
                }
            };
            if make == Make::Really {
                // Those that somebody else has made a moment ago are no sooner to be seen.
                let exist = sound
                    .iter()
                    .zip(&made)
                    .filter_map(|(topic, outcome)| match outcome {
                        Err(error) if error.kind == ClusterErrorKind::TopicExists => Some(topic.name.clone()),
                        _ => None,
                    });
                let there: Vec<_> = done.into_iter().chain(exist).collect();
                self.until_seen(&there, true).await;
            }
            let mut made = made.into_iter();
            let outcome = |topic: &NewTopic| {
                if refused.contains(topic) {
                    let message = format_args!(
                        "making topic `{}`: a topic has a name, and at least one partition",
                        topic.name
                    );
                    return Some(Err(ClusterError::new(ClusterErrorKind::Fatal, message)));
                }
                made.next()
            };
            Ok(topics.iter().filter_map(outcome).collect())
        })
    }

    /// What may be done with a topic; nothing, if it may not be seen.
    async fn topic_access(&self, name: Arc<str>) -> Result<Option<Operations>> {
        let answer = describe_topics(&self.client, std::slice::from_ref(&name))?.await;
        let mut answer = answer.map_err(|error| failed(format_args!("describing topic `{name}`"), &error))?;
        match answer.pop().map(|(_, info)| info) {
            Some(Ok(info)) => Ok(info.operations),
            Some(Err(error)) if kind_of(error.code) == ClusterErrorKind::UnknownTopic => Ok(None),
            Some(Err(error)) => none_of(failed(format_args!("describing topic `{name}`"), &error)),
            None => Ok(None),
        }
    }

    /// A group; `None` if there is none of that name.
    async fn group(&self, name: &str) -> Result<Option<GroupInfo>> {
        match answer(describe_group(&self.client, name)?, &*self.clock).await {
            Ok(group) => Ok(Some(group)),
            Err(error) if error.code == Code::RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND => Ok(None),
            Err(error) => Err(failed(format_args!("describing group `{name}`"), &error)),
        }
    }

    /// Waits until these topics can be seen, or not.
    async fn until_seen(&self, names: &[Arc<str>], there: bool) {
        let deadline = self.clock.now() + PROPAGATION;
        while self.clock.now() < deadline {
            let seen = self.topics(names).await;
            if seen.is_ok_and(|seen| seen.iter().all(|topic| topic.is_some() == there)) {
                return;
            }
            self.clock.sleep_until(self.clock.now() + PAUSE).await;
        }
    }
}

/// Whoever may not describe a thing may do nothing with it.
fn none_of(error: ClusterError) -> Result<Option<Operations>> {
    if error.kind == ClusterErrorKind::Unauthorized {
        Ok(Some(Operations::new()))
    } else {
        Err(error)
    }
}

/// Outcomes for topics, and the topics for which it went well.
fn outcomes<'t>(
    what: &str,
    names: impl Iterator<Item = &'t Arc<str>>,
    answer: Vec<std::result::Result<(), NativeError>>,
) -> (Vec<Result<()>>, Vec<Arc<str>>) {
    let mut done = Vec::new();
    let outcome = |(name, outcome): (&Arc<str>, std::result::Result<(), NativeError>)| match outcome {
        Ok(()) => {
            done.push(name.clone());
            Ok(())
        }
        Err(error) => Err(failed(format_args!("{what} topic `{name}`"), &error)),
    };
    let outcomes = names.zip(answer).map(outcome).collect();
    (outcomes, done)
}

impl Admin for KafkaAdmin {
    fn describe(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Option<TopicDescription>>>> {
        Box::pin(async move {
            let mut found = self.topics(&topics).await?;
            // All questions are on their way before the first answer is waited for.
            let ask = |topic: &TopicDescription| {
                describe_config(&self.client, native::Resource::Topic, &topic.name)
            };
            let calls: Vec<_> = found
                .iter()
                .map(|topic| topic.as_ref().map(ask).transpose())
                .collect::<Result<_>>()?;
            for (topic, call) in found.iter_mut().zip(calls) {
                let (Some(description), Some(call)) = (topic.as_mut(), call) else {
                    continue;
                };
                let name = description.name.clone();
                match call.await {
                    Ok(config) => description.config = config,
                    // It was deleted meanwhile.
                    Err(error) if kind_of(error.code) == ClusterErrorKind::UnknownTopic => *topic = None,
                    // One may see that it is there, and not how it is set.
                    Err(error) if kind_of(error.code) == ClusterErrorKind::Unauthorized => {}
                    Err(error) => return Err(failed(format_args!("settings of topic `{name}`"), &error)),
                }
            }
            Ok(found)
        })
    }

    fn identify(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Option<TopicDescription>>>> {
        Box::pin(async move { self.topics(&topics).await })
    }

    fn create(&mut self, topics: Vec<NewTopic>) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        self.make(topics, Make::Really)
    }

    fn try_create(&mut self, topics: Vec<NewTopic>) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        self.make(topics, Make::OnlyTry)
    }

    fn access(&mut self, to: Vec<Resource>) -> BoxFuture<'_, Result<Vec<Option<Operations>>>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for resource in to {
                all.push(match resource {
                    Resource::Topic(name) => self.topic_access(name).await?,
                    Resource::Group(name) => match self.group(&name).await {
                        Ok(group) => group.and_then(|group| group.operations),
                        Err(error) => none_of(error)?,
                    },
                    Resource::TransactionalIds(_) => None,
                    Resource::Cluster => match cluster_access(&self.client).await {
                        Ok(operations) => operations,
                        Err(error) => return Err(failed("describing the cluster", &error)),
                    },
                });
            }
            Ok(all)
        })
    }

    fn group_members(&mut self, group: String) -> BoxFuture<'_, Result<Vec<MemberDescription>>> {
        Box::pin(async move {
            let group = self.group(&group).await?;
            let mut members = group.map_or_else(Vec::new, |group| group.members);
            members.sort();
            Ok(members)
        })
    }

    fn delete(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Result<()>>>> {
        if topics.is_empty() {
            // librdkafka would refuse to delete nothing.
            return Box::pin(ready(Ok(Vec::new())));
        }
        let call = delete_topics(&self.client, &topics);
        Box::pin(async move {
            let answer = call?.await.map_err(|error| failed("deleting topics", &error))?;
            let (outcomes, done) = outcomes("deleting", topics.iter(), answer);
            self.until_seen(&done, false).await;
            Ok(outcomes)
        })
    }

    fn delete_records(&mut self, before: Vec<(TopicPartition, Offset)>) -> BoxFuture<'_, Result<()>> {
        let places = before.iter().map(|(place, offset)| (place, offset.get() as i64));
        let call = PartitionList::of(places).map(|list| delete_records(&self.client, &list));
        Box::pin(async move {
            let answer = call?.await.map_err(|error| failed("deleting records", &error))?;
            for entry in answer {
                if let Some(error) = entry.error {
                    return Err(failed(
                        format_args!("deleting records of {}", entry.partition),
                        &error,
                    ));
                }
            }
            Ok(())
        })
    }

    fn group_offsets(
        &mut self,
        group: String,
    ) -> BoxFuture<'_, Result<Vec<(TopicPartition, CommittedOffset)>>> {
        let call = group_offsets(&self.client, &group, None);
        Box::pin(async move {
            let what = || format!("offsets of group `{group}`");
            let found = match answer(call?, &*self.clock).await {
                Ok(found) => found,
                Err(error) if error.code == Code::RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND => Vec::new(),
                Err(error) => return Err(failed(what(), &error)),
            };
            let mut offsets = Vec::new();
            for entry in found {
                if let Some(error) = &entry.error {
                    return Err(failed(format_args!("{} for {}", what(), entry.partition), error));
                }
                let place = entry.partition.clone();
                offsets.extend(committed_offset(entry).map(|offset| (place, offset)));
            }
            offsets.sort_by(|one, other| one.0.cmp(&other.0));
            Ok(offsets)
        })
    }

    fn set_group_offsets(
        &mut self,
        group: String,
        offsets: Vec<(TopicPartition, Option<Offset>)>,
    ) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let what = || format!("changing offsets of group `{group}`");
            // The brokers refuse this, too, with an error that does not say it.
            let members = self.group(&group).await?.map_or(0, |group| group.members.len());
            if members > 0 {
                let message = format_args!(
                    "group `{group}` has {members} members: stop all its instances before its offsets are changed"
                );
                return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
            }
            let (mut set, mut deleted) = (Vec::new(), Vec::new());
            for (place, offset) in &offsets {
                match offset {
                    Some(offset) => set.push((place, offset.get() as i64)),
                    None => deleted.push((place, 0)),
                }
            }
            let mut answers = Vec::new();
            if !set.is_empty() {
                let call = alter_group_offsets(&self.client, &group, &PartitionList::of(set)?)?;
                answers.extend(
                    answer(call, &*self.clock)
                        .await
                        .map_err(|error| failed(what(), &error))?,
                );
            }
            if !deleted.is_empty() {
                let call = delete_group_offsets(&self.client, &group, &PartitionList::of(deleted)?)?;
                answers.extend(
                    answer(call, &*self.clock)
                        .await
                        .map_err(|error| failed(what(), &error))?,
                );
            }
            match answers.into_iter().find(|entry| entry.error.is_some()) {
                Some(entry) => {
                    let error = entry
                        .error
                        .unwrap_or_else(|| NativeError::of(Code::RD_KAFKA_RESP_ERR__FAIL));
                    Err(failed(format_args!("{} for {}", what(), entry.partition), &error))
                }
                None => Ok(()),
            }
        })
    }
}
