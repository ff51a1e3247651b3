//! Membership of a group, as an instance sees it.

use std::{any::Any, future::poll_fn, sync::Arc, time::Duration};

use super::{
    core::Shared,
    driver::Verb,
    group::{CommitNumber, Epoch, MemberId, MemberState, Presence},
    link::Link,
    mailbox::Mailbox,
};
use crate::{
    clock::BoxFuture,
    cluster::{
        ClusterErrorKind, CommittedOffset, Event, Group, JoinRequest, Member, OffsetCommit, Operation,
        Resource, Result,
    },
    record::TopicPartition,
};

/// A member. Dropping it is what a crash looks like: its session runs out later.
pub(super) struct EmbeddedMember {
    shared: Arc<Shared>,
    link: Link,
    mailbox: Arc<Mailbox>,
    group: Arc<EmbeddedGroup>,
}

impl EmbeddedMember {
    pub(super) fn join(shared: Arc<Shared>, link: Link, instance: u64, request: JoinRequest) -> Self {
        let mailbox = Arc::<Mailbox>::default();
        let name = request.group.clone();
        let member = MemberState {
            request,
            instance,
            mailbox: mailbox.clone(),
            link: link.clone(),
            presence: Presence::Out,
            epoch: Epoch::default(),
            unaware: None,
            untold: Vec::new(),
        };
        let id = shared.with(|core| {
            let id = MemberId(core.number());
            core.groups
                .entry(name.clone())
                .or_default()
                .members
                .insert(id, member);
            id
        });
        link.tell({
            let (shared, name) = (shared.clone(), name.clone());
            move || shared.with(|core| core.hear(&*shared.driver, &name, id))
        });
        let group = Arc::new(EmbeddedGroup {
            shared: shared.clone(),
            link: link.clone(),
            name,
            id,
        });
        Self {
            shared,
            link,
            mailbox,
            group,
        }
    }
}

impl Member for EmbeddedMember {
    fn next_event(&mut self) -> BoxFuture<'_, Event> {
        Box::pin(poll_fn(|cx| self.mailbox.poll(cx, !self.link.is_severed())))
    }

    fn group(&self) -> Arc<dyn Group> {
        self.group.clone()
    }

    fn leave(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        let (shared, group) = (self.shared.clone(), self.group.clone());
        let answer = self.link.call(Verb::Leave, move || {
            shared.with(|core| core.leave(&*shared.driver, &group.name, group.id));
            Ok(())
        });
        Box::pin(answer)
    }
}

impl Drop for EmbeddedMember {
    fn drop(&mut self) {
        self.mailbox.close();
        let driver = &*self.shared.driver;
        self.shared
            .with(|core| core.fall_silent(driver, &self.group.name, self.group.id));
    }
}

/// How long [`Group::committed`] waits for offsets to be stable.
const STABLE_WAIT: Duration = Duration::from_secs(5);

/// How long it waits before it asks again.
const STABLE_PAUSE: Duration = Duration::from_millis(10);

/// The group's verbs, on behalf of one member.
pub(super) struct EmbeddedGroup {
    shared: Arc<Shared>,
    link: Link,
    pub(super) name: String,
    pub(super) id: MemberId,
}

impl EmbeddedGroup {
    /// What goes with a commit of these offsets; an error, if they are not all ours.
    pub(super) fn proof(&self, offsets: &[OffsetCommit]) -> Result<Epoch> {
        let gated = !self.link.is_ungated();
        self.shared
            .with(|core| core.proof(&self.name, self.id, offsets, gated))
    }
}

impl Group for EmbeddedGroup {
    fn committed(
        &self,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<'static, Result<Vec<Option<CommittedOffset>>>> {
        let (shared, link, name) = (self.shared.clone(), self.link.clone(), self.name.clone());
        let ask = move || {
            let (shared, name, partitions) = (shared.clone(), name.clone(), partitions.clone());
            link.call(Verb::Committed, move || {
                shared.with(|core| core.stable_offsets(&name, &partitions))
            })
        };
        let (driver, first) = (self.shared.driver.clone(), ask());
        let deadline = driver.now() + STABLE_WAIT;
        Box::pin(async move {
            let mut outcome = first.await;
            while outcome
                .as_ref()
                .is_err_and(|error| error.kind == ClusterErrorKind::Retriable)
                && driver.now() < deadline
            {
                driver.sleep_until(driver.now() + STABLE_PAUSE).await;
                outcome = ask().await;
            }
            outcome
        })
    }

    fn commit(&self, offsets: Vec<OffsetCommit>) -> BoxFuture<'static, Result<()>> {
        let epoch = match self.proof(&offsets) {
            Ok(epoch) => epoch,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let (shared, name, id) = (self.shared.clone(), self.name.clone(), self.id);
        let answer = self.link.call(Verb::Commit, move || {
            shared.with(|core| {
                core.denials
                    .check(&Resource::Group(name.as_str().into()), Operation::Read)?;
                core.check_commit(&name, id, epoch, &offsets)?;
                core.version += 1;
                let number = CommitNumber(core.number());
                core.groups.entry(name).or_default().store(number, offsets);
                Ok(())
            })
        });
        Box::pin(answer)
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}
