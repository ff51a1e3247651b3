//! Membership of a group.
//!
//! One thread polls the consumer and runs its rebalances ([`rebalance`]); it blocks while partitions are asked back,
//! which does not stop heartbeats nor the other partitions. What is owned, and the proof of it, is in
//! [`membership`], whom all others ask; who waits for something that nobody tells is in [`lookout`]. A second thread does the
//! [`seeks`] of [`queue`]s. [`session`] has the settings of the group.

mod group;
mod lookout;
mod membership;
mod queue;
mod rebalance;
mod seeks;
mod session;

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use tokio::sync::{
    mpsc::{UnboundedReceiver, unbounded_channel},
    oneshot,
};

pub(super) use self::{
    group::{KafkaGroup, committed_offset, list_of},
    membership::Membership,
};
use self::{
    rebalance::{Control, Poller},
    seeks::Seeks,
};
use super::{
    Shared,
    client_thread::no_thread,
    config::Protocol,
    native::{Kind, Queue},
};
use crate::{
    clock::BoxFuture,
    cluster::{ClusterError, ClusterErrorKind, Event, Group, JoinRequest, Member, Result},
};

/// A member of a group.
pub(super) struct KafkaMember {
    events: UnboundedReceiver<Event>,
    group: Arc<KafkaGroup>,
    control: Arc<Control>,
}

impl KafkaMember {
    pub(super) fn join(shared: Arc<Shared>, request: JoinRequest) -> Result<Self> {
        let properties = shared.config.member(&request, Protocol::Consumer);
        let client = shared.client(Kind::Member, &properties)?;
        let queue = Arc::new(Queue::of_consumer(&client));
        let membership = Arc::new(Membership::new(client));
        let control = Arc::new(Control::new(queue.clone()));
        let group = Arc::new(KafkaGroup::new(
            request.group.clone(),
            membership.clone(),
            shared.config.clock.clone(),
        ));
        let (sender, events) = unbounded_channel();
        let poller = Poller {
            shared,
            request,
            membership,
            control: control.clone(),
            events: sender,
            seeks: Arc::new(Seeks::start()?),
            lookout: Arc::default(),
            queue,
            protocol: Protocol::Consumer,
            assigned: false,
        };
        thread::Builder::new()
            .name("kproc-kafka-poll".into())
            .spawn(move || poller.run())
            .map_err(|error| no_thread(&error))?;
        Ok(Self {
            events,
            group,
            control,
        })
    }
}

impl Member for KafkaMember {
    fn next_event(&mut self) -> BoxFuture<'_, Event> {
        Box::pin(async {
            match self.events.recv().await {
                Some(event) => event,
                // The thread ends after it has said why, so this is for who asks again.
                None => std::future::pending().await,
            }
        })
    }

    fn group(&self) -> Arc<dyn Group> {
        self.group.clone()
    }

    fn leave(mut self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        let (reply, answer) = oneshot::channel();
        self.control.leave(reply);
        // Revocations of the leaving itself are nobody's business any more, and those before it end with it.
        self.events.close();
        Box::pin(async move {
            let member = self;
            let outcome = answer.await.unwrap_or_else(|_| {
                let message = "the thread of the group's member has ended before it could leave";
                Err(ClusterError::new(ClusterErrorKind::Unknown, message))
            });
            drop(member);
            outcome
        })
    }
}

impl Drop for KafkaMember {
    fn drop(&mut self) {
        self.control.abandon();
    }
}

/// Locks, though a thread may have died holding it: no data here is ever half changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
