//! Why brokers do not let a client in. librdkafka tells it once, apart from the requests that then wait for nothing.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use super::{NativeError, error::Code};

/// What is known of it.
#[derive(Default)]
pub(super) struct Refusal(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// How often brokers have refused.
    times: u64,
    /// Some request was answered.
    admitted: bool,
    /// The last time, unless some request was answered since.
    last: Option<NativeError>,
    /// Requests that wait for an answer.
    waiting: Vec<Waker>,
}

impl Refusal {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of an error.
    pub(super) fn hear(&self, error: &NativeError) {
        let refused = matches!(
            error.code,
            Code::RD_KAFKA_RESP_ERR__AUTHENTICATION | Code::RD_KAFKA_RESP_ERR__SSL
        );
        if refused {
            let mut known = self.lock();
            if known.admitted && error.is_missing_token() {
                // The token that it has may be good for a while.
                return;
            }
            known.times += 1;
            known.last = Some(error.clone());
            let waiting = std::mem::take(&mut known.waiting);
            drop(known);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// How often brokers have refused so far.
    pub(super) fn times(&self) -> u64 {
        self.lock().times
    }

    /// The last refusal, unless some request was answered since.
    pub(super) fn last(&self) -> Option<NativeError> {
        self.lock().last.clone()
    }

    /// What has come since there were so many; who waits is woken by the next.
    pub(super) fn since(&self, times: u64, waker: Option<&Waker>) -> Option<NativeError> {
        let mut known = self.lock();
        if known.times > times && known.last.is_some() {
            return known.last.clone();
        }
        if let Some(waker) = waker
            && !known.waiting.iter().any(|it| it.will_wake(waker))
        {
            known.waiting.push(waker.clone());
        }
        None
    }

    /// A request was answered: the client is let in. Others that wait come to do so again, for the next refusal is theirs,
    /// too; those that have stopped waiting do not.
    pub(super) fn answered(&self) {
        let mut known = self.lock();
        known.admitted = true;
        known.last = None;
        let waiting = std::mem::take(&mut known.waiting);
        drop(known);
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_answer_to_one_request_leaves_no_other_without_its_refusal() {
        let (refusal, woken) = (Refusal::default(), Arc::<Woken>::default());
        let waker = Waker::from(woken.clone());
        let since = refusal.times();
        assert!(refusal.since(since, Some(&waker)).is_none());
        // Another request is answered, and this one looks again.
        refusal.answered();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(refusal.since(since, Some(&waker)).is_none());
        refusal.hear(&NativeError::of(Code::RD_KAFKA_RESP_ERR__AUTHENTICATION));
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
        assert!(refusal.since(since, Some(&waker)).is_some());
    }
}
