//! The test's own connection to the embedded cluster. Everything is answered at once: no time passes here.

use std::{collections::BTreeMap, sync::Arc};

use super::{DriverError, Received, exec::Executor, mailbox::Mailbox};
use crate::{
    cluster::{
        Admin, Cluster, ClusterError, ClusterErrorKind, Isolation, NewTopic, Producer, ProducerOptions,
        Reader, Result, embedded::EmbeddedCluster,
    },
    outbox::{Outbox, RawRecord},
};

/// See the module. Topics have their names in the cluster here.
pub(super) struct Client {
    cluster: EmbeddedCluster,
    admin: Box<dyn Admin>,
    producer: Box<dyn Producer>,
    reader: Box<dyn Reader>,
    mailboxes: BTreeMap<Arc<str>, Mailbox>,
}

impl Client {
    pub(super) fn connect(cluster: &EmbeddedCluster) -> Result<Self> {
        let connection = cluster.connect();
        Ok(Self {
            cluster: cluster.clone(),
            admin: connection.admin()?,
            producer: connection.producer(ProducerOptions::default())?,
            reader: connection.reader(Isolation::ReadCommitted)?,
            mailboxes: BTreeMap::new(),
        })
    }

    /// Makes the topics that are not there yet.
    pub(super) fn create_missing(
        &mut self,
        executor: &mut Executor,
        topics: Vec<NewTopic>,
    ) -> std::result::Result<(), DriverError> {
        for made in now(executor, self.admin.create(topics))? {
            match made {
                Err(error) if error.kind != ClusterErrorKind::TopicExists => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// How many partitions a topic has; `None`: there is no such topic.
    pub(super) fn partitions(
        &mut self,
        executor: &mut Executor,
        topic: &Arc<str>,
    ) -> std::result::Result<Option<u32>, DriverError> {
        let described = now(executor, self.admin.describe(vec![topic.clone()]))?;
        let mut found = described.into_iter().flatten();
        Ok(found.next().map(|topic| topic.partitions))
    }

    pub(super) fn write(
        &mut self,
        executor: &mut Executor,
        topic: &Arc<str>,
        record: &RawRecord<'_>,
    ) -> std::result::Result<(), DriverError> {
        let mut outbox = Outbox::default();
        outbox.push_raw(topic, record);
        if record.timestamp.is_none() {
            // A producer would stamp it.
            return Ok(self.cluster.append(&mut outbox)?);
        }
        now(executor, async {
            self.producer.send(&mut outbox).await?;
            self.producer.flush().await
        })?;
        Ok(())
    }

    /// The next record of a topic that was not received before.
    pub(super) fn receive<K, V>(
        &mut self,
        executor: &mut Executor,
        topic: &Arc<str>,
    ) -> std::result::Result<Option<Received<K, V>>, DriverError> {
        if !self.mailboxes.contains_key(topic)
            && let Some(partitions) = self.partitions(executor, topic)?
        {
            let mailbox = Mailbox::new(topic.clone(), partitions);
            self.mailboxes.insert(topic.clone(), mailbox);
        }
        let Some(mailbox) = self.mailboxes.get_mut(topic) else {
            return Ok(None);
        };
        if mailbox.is_empty() {
            now(executor, mailbox.collect(&mut *self.reader))?;
        }
        Ok(mailbox.take())
    }
}

fn now<T>(
    executor: &mut Executor,
    request: impl Future<Output = Result<T>>,
) -> std::result::Result<T, DriverError> {
    let answer = executor.run_until(request);
    let no_answer = || ClusterError::new(ClusterErrorKind::Unknown, "no answer");
    Ok(answer.unwrap_or_else(|| Err(no_answer()))?)
}
