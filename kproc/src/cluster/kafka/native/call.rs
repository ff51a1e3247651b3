//! Requests whose answer comes to a queue of its own.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use super::{Client, Event, NativeError, Queue, error::Code};

type Parse<T> = Box<dyn FnOnce(&Event) -> Result<T, NativeError> + Send>;

/// A request on its way. It is carried out even if this is dropped.
pub(in super::super) struct Call<T> {
    queue: Queue,
    parse: Option<Parse<T>>,
    /// It was refused at once.
    refused: Option<NativeError>,
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
        send(&queue);
        Self {
            queue,
            parse: Some(Box::new(parse)),
            refused: None,
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
        match self.queue.poll(timeout.as_millis() as i32) {
            Some(event) => self.answer(&event),
            None => Err(NativeError::of(Code::RD_KAFKA_RESP_ERR__TIMED_OUT)),
        }
    }

    fn answer(&mut self, event: &Event) -> Result<T, NativeError> {
        if let Some(error) = event.error() {
            return Err(error);
        }
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
        match self.queue.poll(0) {
            Some(event) => Poll::Ready(self.answer(&event)),
            None => Poll::Pending,
        }
    }
}
