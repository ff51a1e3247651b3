//! Clients that librdkafka (2.12) has left to themselves.
//!
//! - A broker that is just back, and that the controller has not let in yet, answers that there are no brokers, if it is the
//!   only one. librdkafka then forgets all of them, and the addresses that it was given, and may never ask anybody again,
//!   without a word (its issue 5301). With the addresses given anew it goes on where it was: a member is the same member, a
//!   transaction the same transaction. (Where `client.dns.lookup` asks for canonical names, it gets the names as they were
//!   written. With Kerberos, brokers may then refuse it, which is told.)
//! - A producer remembers by which connection it has reached the group's coordinator. If that broker was forgotten since, as
//!   brokers are that are away, a call that adds offsets to a transaction waits for the old connection, and does not return
//!   when its time is over. It looks for the coordinator anew when any connection comes or goes: so one of them is ended.

use std::{
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use super::{client_thread::no_thread, log::Log, native::Client};
use crate::{clock::Clock, cluster::Result};

/// How often each client is looked at. A call of a transaction waits for as long as that (`CALL`, among their steps), so it
/// should have returned by the next look but one.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at clients from time to time, on a thread of its own, which ends after this and the last of them.
pub(super) struct Rescue(Sender<Looked>);

impl Rescue {
    /// `brokers` are the addresses that clients are given anew.
    pub(super) fn start(brokers: String, log: Arc<Log>, clock: Arc<dyn Clock>) -> Result<Self> {
        let (newcomers, receiver) = channel();
        let mut help = move |looked: &mut Looked| looked.help(&brokers, &log);
        thread::Builder::new()
            .name("kproc-kafka-look".into())
            .spawn(move || look(&receiver, &*clock, INTERVAL, &mut help))
            .map_err(|error| no_thread(&error))?;
        Ok(Self(newcomers))
    }

    /// Looks at this one, too, for as long as anybody else has it.
    pub(super) fn add(&self, client: &Arc<Client>) {
        let client = Arc::downgrade(client);
        let (bereft, hung) = (Bereft::default(), Hung::default());
        // The thread is there as long as we are.
        let _ = self.0.send(Looked { client, bereft, hung });
    }
}

/// Calls `at` for each of them in these intervals, also while more and more come, as long as it returns true. Ends after the last.
fn look<T>(
    newcomers: &Receiver<T>,
    clock: &dyn Clock,
    interval: Duration,
    at: &mut dyn FnMut(&mut T) -> bool,
) {
    let mut all = Vec::new();
    let mut next = clock.now() + interval;
    loop {
        let left = next.saturating_sub(clock.now());
        match newcomers.recv_timeout(left) {
            Ok(newcomer) => all.push(newcomer),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if all.is_empty() => return,
            Err(RecvTimeoutError::Disconnected) => thread::sleep(left),
        }
        if clock.now() >= next {
            all.retain_mut(&mut *at);
            next = clock.now() + interval;
        }
    }
}

/// A client, and what was seen of it.
struct Looked {
    client: Weak<Client>,
    bereft: Bereft,
    hung: Hung,
}

impl Looked {
    /// Helps it if need be. False: nobody has it any more.
    fn help(&mut self, brokers: &str, log: &Log) -> bool {
        let Some(client) = self.client.upgrade() else {
            return false;
        };
        if self.bereft.needs_help(client.was_told_of_no_broker()) {
            client.add_brokers(brokers);
            if !self.bereft.is_usual() {
                log.helped(
                    &client.name(),
                    "the brokers name no controller. Those that have just started name no brokers either, until they know of \
                     each other: they are asked again. (Some never name a controller; then this means nothing)",
                );
            }
        }
        if self.hung.needs_help(client.call()) {
            client.end_a_connection();
            log.helped(
                &client.name(),
                "a call of a transaction has not returned in time, and is woken",
            );
        }
        true
    }
}

/// How often in a row a client was seen that was told of no broker.
#[derive(Default)]
struct Bereft(u32);

impl Bereft {
    const SELDOM: u32 = 64;

    /// Not at first, for many help themselves at once. And less and less often, for some brokers never name a controller, by which
    /// others are known to know of each other.
    fn needs_help(&mut self, bereft: bool) -> bool {
        self.0 = if bereft { self.0.saturating_add(1) } else { 0 };
        self.0 > 1 && (self.0.is_power_of_two() || self.0.is_multiple_of(Self::SELDOM))
    }

    /// It was seen for so long that nothing seems to be wrong with it.
    fn is_usual(&self) -> bool {
        self.0 >= Self::SELDOM
    }
}

/// The call that a client was seen in, and how often it was seen in it again.
#[derive(Default)]
struct Hung(Option<u64>, u32);

impl Hung {
    /// Not before it should have returned for a while; then again and again, for not every connection is one that it is woken by.
    fn needs_help(&mut self, call: Option<u64>) -> bool {
        const PATIENCE: u32 = 3;
        if call.is_none() || self.0 != call {
            *self = Self(call, 0);
            return false;
        }
        self.1 += 1;
        self.1.is_multiple_of(PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn newcomers_do_not_put_a_look_off() {
        let clock = SystemClock::new();
        let interval = Duration::from_millis(20);
        let (newcomers, receiver) = channel();
        let (tell, looked) = channel();
        thread::spawn(move || {
            // All are let go with the first look, which is told.
            look(&receiver, &SystemClock::new(), interval, &mut |()| {
                tell.send(()).is_err()
            });
        });
        let patience = clock.now() + Duration::from_secs(60);
        while looked.try_recv().is_err() {
            assert!(clock.now() < patience, "nobody looks");
            newcomers.send(()).unwrap();
            thread::sleep(interval / 20);
        }
    }

    #[test]
    fn who_is_told_of_no_broker_is_helped_soon_and_then_less_and_less_often() {
        let mut bereft = Bereft::default();
        let mut helped = |looks: u32| (1..=looks).filter(|_| bereft.needs_help(true)).count();
        assert_eq!((helped(1), helped(1), helped(1), helped(1)), (0, 1, 0, 1));
        assert_eq!(helped(59), 3, "after 8, 16 and 32");
        assert!(!bereft.is_usual());
        let mut helped = |looks: u32| (1..=looks).filter(|_| bereft.needs_help(true)).count();
        assert_eq!(helped(1 + 64 * 100), 101);
        assert!(bereft.is_usual());
        assert!(!bereft.needs_help(false));
        assert!(!bereft.needs_help(true));
        assert!(bereft.needs_help(true));
    }

    #[test]
    fn a_call_is_woken_that_has_not_returned_for_a_while() {
        let mut hung = Hung::default();
        let mut helped = |calls: &[u64]| {
            let looks = calls.iter().map(|call| (*call > 0).then_some(*call));
            looks.map(|call| hung.needs_help(call)).collect::<Vec<_>>()
        };
        assert_eq!(helped(&[1, 1, 1, 3]), [false; 4]);
        assert_eq!(helped(&[3, 3, 3, 3]), [false, false, true, false]);
        assert_eq!(helped(&[3, 3, 0, 3]), [false, true, false, false]);
        assert_eq!(helped(&[0, 0, 0, 0, 0]), [false; 5]);
    }
}
