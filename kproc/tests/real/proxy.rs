//! Between an application and a broker: what ends transactions gets lost, on the way there or on the way back; or what asks for
//! the ends of partitions.

use std::{
    collections::BTreeSet,
    io::{Read, Result, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Kafka's number for the request that commits or aborts a transaction.
const END_TXN: i16 = 26;
/// And for the one that asks where a partition begins or ends.
const LIST_OFFSETS: i16 = 2;

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
}

/// A proxy that lives as long as the process.
#[derive(Clone)]
pub(crate) struct Proxy {
    rule: Arc<Mutex<Rule>>,
    lost: Arc<AtomicUsize>,
}

impl Proxy {
    /// Listens at one port, and hands on to the other.
    pub(crate) fn start(outside: u16, inside: u16) -> Self {
        let proxy = Self {
            rule: Arc::new(Mutex::new(Rule::Pass)),
            lost: Arc::default(),
        };
        let listener = TcpListener::bind(("127.0.0.1", outside)).unwrap();
        let own = proxy.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(broker) = TcpStream::connect(("127.0.0.1", inside)) {
                    own.join(&client, &broker).unwrap();
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

    fn join(&self, client: &TcpStream, broker: &TcpStream) -> Result<()> {
        let doomed = Arc::new(Mutex::new(BTreeSet::new()));
        let (requests, answers) = (self.clone(), self.clone());
        let (from, to) = (client.try_clone()?, broker.try_clone()?);
        let marked = doomed.clone();
        thread::spawn(move || {
            pass(from, to, |frame| {
                let rule = *requests.rule.lock().unwrap();
                match (i16::from_be_bytes([frame[0], frame[1]]), rule) {
                    (END_TXN, Rule::LoseRequests) | (LIST_OFFSETS, Rule::LosePlaces) => {
                        return requests.loses();
                    }
                    (END_TXN, Rule::LoseAnswers) => {
                        marked.lock().unwrap().insert(frame[4..8].to_owned());
                    }
                    _ => {}
                }
                true
            });
        });
        let (from, to) = (broker.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            pass(from, to, |frame| {
                let is_doomed = doomed.lock().unwrap().contains(&frame[0..4]);
                !is_doomed || answers.loses()
            });
        });
        Ok(())
    }

    /// Counts one. It is not to be handed on.
    fn loses(&self) -> bool {
        self.lost.fetch_add(1, Ordering::SeqCst);
        false
    }
}

/// Hands messages on, until one of the two hangs up, or a message is not to be handed on.
fn pass(mut from: TcpStream, mut to: TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut next = || -> Result<bool> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        from.read_exact(&mut frame)?;
        let passes = may_pass(&frame);
        if passes {
            to.write_all(&[&length[..], &frame].concat())?;
        }
        Ok(passes)
    };
    while let Ok(true) = next() {}
    // The other direction ends, too. Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
