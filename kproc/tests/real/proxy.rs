//! Between an application and a broker: what ends transactions gets lost, on the way there or on the way back; or what asks for
//! the ends of partitions; or what brokers tell of themselves. Or answers to heartbeats come late.

use std::{
    collections::BTreeMap,
    io::{Read, Result, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    broker::{TestBroker, free_ports},
    metadata,
};

/// Kafka's number for the request that commits or aborts a transaction.
const END_TXN: i16 = 26;
/// And for the one that asks where a partition begins or ends.
const LIST_OFFSETS: i16 = 2;
/// And for the one that asks for brokers and topics.
const METADATA: i16 = 3;
/// And for the heartbeat of the `consumer` protocol.
const CONSUMER_GROUP_HEARTBEAT: i16 = 68;

/// How late an answer comes.
const LATE: Duration = Duration::from_secs(1);

/// What becomes of requests that end a transaction, if nothing else is said. With what is lost its connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Pass,
    /// The broker never hears of them.
    LoseRequests,
    /// The broker does what it is asked to, and the application does not hear of that.
    LoseAnswers,
    /// The broker never hears of requests for the ends of partitions.
    LosePlaces,
    /// Answers about brokers and topics say that there are no brokers, as those of one do that is just back.
    LoseBrokers,
    /// Heartbeats are answered late.
    LateHeartbeats,
}

/// What becomes of an answer.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Lost,
    /// With this version of the request.
    WithoutBrokers(i16),
    Late,
}

/// A proxy that lives as long as the process.
#[derive(Clone)]
pub(crate) struct Proxy {
    rule: Arc<Mutex<Rule>>,
    lost: Arc<AtomicUsize>,
    /// Of clients. Whoever passes messages on holds them.
    connections: Arc<Mutex<Vec<Weak<TcpStream>>>>,
}

impl Proxy {
    /// One in front of a broker that no other test has. Also returns the broker's own address, and the one that leads through the
    /// proxy. `None` if there is no broker to be had here.
    pub(crate) fn before(broker: &TestBroker) -> Option<(Self, &str, String)> {
        let (outside, inside) = free_ports().unwrap();
        let address = broker.address_behind(outside, inside)?;
        let proxy = Self::start(outside, inside);
        Some((proxy, address, format!("127.0.0.1:{outside}")))
    }

    /// Listens at one port, and hands on to the other.
    fn start(outside: u16, inside: u16) -> Self {
        let proxy = Self {
            rule: Arc::new(Mutex::new(Rule::Pass)),
            lost: Arc::default(),
            connections: Arc::default(),
        };
        let listener = TcpListener::bind(("127.0.0.1", outside)).unwrap();
        let own = proxy.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(broker) = TcpStream::connect(("127.0.0.1", inside)) {
                    own.join(client, broker);
                }
            }
        });
        proxy
    }

    /// From now on.
    pub(crate) fn rule(&self, rule: Rule) {
        *self.rule.lock().unwrap() = rule;
    }

    /// How many were lost so far.
    pub(crate) fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }

    /// Ends all connections, as a broker's end does.
    pub(crate) fn hang_up(&self) {
        let connections = std::mem::take(&mut *self.connections.lock().unwrap());
        for connection in connections.iter().filter_map(Weak::upgrade) {
            // It may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn join(&self, client: TcpStream, broker: TcpStream) {
        let (client, broker) = (Arc::new(client), Arc::new(broker));
        let mut connections = self.connections.lock().unwrap();
        // Those that have ended are let go: each is a file.
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(Arc::downgrade(&client));
        drop(connections);
        let doomed = Arc::new(Mutex::new(BTreeMap::new()));
        let (requests, answers) = (self.clone(), self.clone());
        let (from, to) = (client.clone(), broker.clone());
        let marked = doomed.clone();
        thread::spawn(move || {
            pass(&from, &to, |frame| {
                let rule = *requests.rule.lock().unwrap();
                let number = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
                let answer = match (number(0), rule) {
                    (END_TXN, Rule::LoseRequests) | (LIST_OFFSETS, Rule::LosePlaces) => {
                        return requests.loses();
                    }
                    (END_TXN, Rule::LoseAnswers) => Answer::Lost,
                    (METADATA, Rule::LoseBrokers) => Answer::WithoutBrokers(number(2)),
                    (CONSUMER_GROUP_HEARTBEAT, Rule::LateHeartbeats) => Answer::Late,
                    _ => return true,
                };
                marked.lock().unwrap().insert(frame[4..8].to_owned(), answer);
                true
            });
        });
        thread::spawn(move || {
            pass(&broker, &client, |frame| {
                match doomed.lock().unwrap().remove(&frame[0..4]) {
                    None => true,
                    Some(Answer::Lost) => answers.loses(),
                    Some(Answer::WithoutBrokers(version)) => {
                        *frame = metadata::without_brokers(frame, version);
                        answers.loses();
                        true
                    }
                    Some(Answer::Late) => {
                        thread::sleep(LATE);
                        true
                    }
                }
            });
        });
    }

    /// Counts one. It is not to be handed on.
    fn loses(&self) -> bool {
        self.lost.fetch_add(1, Ordering::SeqCst);
        false
    }
}

/// Hands messages on, until one of the two hangs up, or a message is not to be handed on.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut may_pass: impl FnMut(&mut Vec<u8>) -> bool) {
    let mut next = || -> Result<bool> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        from.read_exact(&mut frame)?;
        let passes = may_pass(&mut frame);
        if passes {
            to.write_all(&[&(frame.len() as u32).to_be_bytes()[..], &frame].concat())?;
        }
        Ok(passes)
    };
    while let Ok(true) = next() {}
    // The other direction ends, too. Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
