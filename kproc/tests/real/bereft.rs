//! A broker that is just back, and that the controller has not let in yet, tells its clients that there are no brokers.

use std::{future::Future, time::Duration};

use kproc::{
    Offset,
    cluster::{Admin, Cluster, Isolation, Member, OffsetCommit, Producer, ProducerOptions, Reader},
    config::Processing,
    outbox::{Outbox, RawRecord},
};

use crate::{
    broker::TestBroker,
    kit::{PATIENCE, Site, block_on, stop},
    proxy::{Proxy, Rule},
};

/// It has a second address, behind a proxy.
static BEHIND: TestBroker = TestBroker::new(&[]);

/// How often clients are told. What becomes of that in librdkafka is a race, which most clients lose.
const ROUNDS: usize = 3;
/// For how long.
const OUTAGE: Duration = Duration::from_secs(1);
/// What comes in each round. At least once: that brokers seem to be away may make some counts come twice.
const KEYS: [&str; 2] = ["apple", "plum"];

/// Scenario G03: clients of all kinds go on once there are brokers again: an application's, and those that administer, read and
/// write alone.
#[test]
fn g03_clients_that_were_told_that_there_are_no_brokers_go_on() {
    let Some((proxy, address, behind)) = Proxy::before(&BEHIND) else {
        return;
    };
    let sites = ["least", "exactly"].map(|name| (Site::at(address, name), Site::at(&behind, name)));
    block_on(async {
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut running = Vec::new();
        for ((site, behind), state) in sites.iter().zip(&states) {
            site.make_topics(2).await;
            let app = behind.app(state.path()).configure(|settings| {
                if site.name == "exactly" {
                    settings.processing = Processing::ExactlyOnce;
                }
            });
            running.push(app.start().unwrap());
        }
        let mut alone = Alone::new(&sites[0].1).await;
        for round in 1..=ROUNDS {
            for ((site, _), running) in sites.iter().zip(&running) {
                site.write(KEYS).await;
                site.counted_up_to(running, &KEYS, round as u64).await;
            }
            alone.all_work(round).await;
            let before = proxy.lost();
            proxy.rule(Rule::LoseBrokers);
            proxy.hang_up();
            sites[0].0.pause(OUTAGE).await;
            proxy.rule(Rule::Pass);
            let told = proxy.lost() - before;
            println!("round {round}: told {told} times");
            assert!(told > 0, "nobody has asked");
        }
        for ((site, _), running) in sites.iter().zip(&running) {
            site.write(KEYS).await;
            site.counted_up_to(running, &KEYS, ROUNDS as u64 + 1).await;
            stop(running, Duration::from_secs(20)).await;
        }
        alone.all_work(ROUNDS + 1).await;
    });
}

/// One client of each kind, which do nothing while there are no brokers.
struct Alone<'s> {
    site: &'s Site,
    admin: Box<dyn Admin>,
    reader: Box<dyn Reader>,
    producer: Box<dyn Producer>,
    transactions: Box<dyn Producer>,
    member: Box<dyn Member>,
    /// Of all that the member owns.
    offsets: Vec<OffsetCommit>,
}

impl<'s> Alone<'s> {
    async fn new(site: &'s Site) -> Self {
        site.make_topic("alone", 1, &[]).await;
        let producer = |id: Option<&str>| {
            let options = ProducerOptions {
                transactional_id: id.map(str::to_owned),
                ..ProducerOptions::default()
            };
            site.cluster.producer(options).unwrap()
        };
        let mut transactions = producer(Some("alone"));
        transactions.init().await.unwrap();
        let (member, offsets) = site.member("alone").await;
        Self {
            site,
            admin: site.admin(),
            reader: site.cluster.reader(Isolation::ReadCommitted).unwrap(),
            producer: producer(None),
            transactions,
            member,
            offsets,
        }
    }

    /// Writes and reads the record of this round, finds its topic, and commits offsets.
    async fn all_work(&mut self, round: usize) {
        let topic = self.site.topic("alone").into();
        let mut outbox = Outbox::default();
        outbox.push_raw(&topic, &RawRecord::default());
        let written = async {
            self.producer.send(&mut outbox).await.unwrap();
            self.producer.flush().await.unwrap();
        };
        in_time("producer", written).await;

        let place = self.site.partition("alone", 0);
        let from = Offset::new(round as u64 - 1);
        let read = async {
            loop {
                let wait = Duration::from_secs(1);
                let read = self.reader.read(place.clone(), from, 1, wait).await.unwrap();
                if read.next > from {
                    break;
                }
            }
        };
        in_time("reader", read).await;

        let found = async {
            while let Err(error) = self.admin.identify(vec![topic.clone()]).await {
                eprintln!("{error}");
            }
        };
        in_time("admin", found).await;

        let group = self.member.group();
        let committed = async {
            let commit = self.transactions.commit(group, self.offsets.clone());
            commit.await.unwrap();
        };
        in_time("producer with transactions", committed).await;
    }
}

async fn in_time(what: &str, work: impl Future<Output = ()>) {
    let outcome = tokio::time::timeout(PATIENCE, work).await;
    assert!(outcome.is_ok(), "the {what} is of no more use");
}
