//! Requests whose answer comes to a queue of its own.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use super::{Client, Event, NativeError, Queue, error::Code};

/// A piece of a wait, in milliseconds.
const PIECE: i32 = 100;

type Parse<T> = Box<dyn FnOnce(&Event) -> Result<T, NativeError> + Send>;

/// A request on its way. It is carried out even if this is dropped.
pub(in super::super) struct Call<T> {
    queue: Queue,
    parse: Option<Parse<T>>,
    /// It was refused at once.
    refused: Option<NativeError>,
    /// How often brokers had refused the client before.
    refusals: u64,
}

impl<T> Call<T> {
    /// Sends a request, whose answer goes to the queue that `send` is given.
    pub(super) fn send(
        client: &Arc<Client>,
        send: impl FnOnce(&Queue),
        parse: impl FnOnce(&Event) -> Result<T, NativeError> + Send + 'static,
    ) -> Self {
        let queue = Queue::new(client);
        queue.notify();
        let refusals = client.refusal().times();
        send(&queue);
        Self {
            queue,
            parse: Some(Box::new(parse)),
            refused: None,
            refusals,
        }
    }

    /// The request was refused at once.
    pub(super) fn failed(self, error: NativeError) -> Self {
        Self {
            refused: Some(error),
            ..self
        }
    }

    /// Waits for the answer on this thread.
    pub(in super::super) fn wait(mut self, timeout: Duration) -> Result<T, NativeError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let mut left = timeout.as_millis() as i32;
        loop {
            // In pieces, for a refusal comes another way.
            if let Some(event) = self.queue.poll(left.min(PIECE)) {
                return self.answer(&event);
            }
            if let Some(error) = self.queue.client().refusal().since(self.refusals, None) {
                return Err(error);
            }
            left -= PIECE;
            if left <= 0 {
                return Err(NativeError::of(Code::RD_KAFKA_RESP_ERR__TIMED_OUT));
            }
        }
    }

    fn answer(&mut self, event: &Event) -> Result<T, NativeError> {
        let refusal = self.queue.client().refusal();
        if let Some(error) = event.error() {
            // It waited for a connection, and this is why there is none.
            let waited = matches!(
                error.code,
                Code::RD_KAFKA_RESP_ERR__TIMED_OUT | Code::RD_KAFKA_RESP_ERR__TRANSPORT
            );
            return Err(refusal.last().filter(|_| waited).unwrap_or(error));
        }
        refusal.answered();
        match self.parse.take() {
            Some(parse) => parse(event),
            None => Err(NativeError::of(Code::RD_KAFKA_RESP_ERR__STATE)),
        }
    }
}

impl<T> Unpin for Call<T> {}

impl<T> Future for Call<T> {
    type Output = Result<T, NativeError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = self.refused.take() {
            return Poll::Ready(Err(error));
        }
        self.queue.register(cx.waker());
        if let Some(event) = self.queue.poll(0) {
            return Poll::Ready(self.answer(&event));
        }
        let refusal = self.queue.client().refusal();
        let refused = refusal.since(self.refusals, Some(cx.waker()));
        refused.map_or(Poll::Pending, |error| Poll::Ready(Err(error)))
    }
}
