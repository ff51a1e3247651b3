//! Brokers that die and come back, or stall.

use std::{path::Path, time::Duration};

use kproc::{
    App, Clock, Offset, RunError, Running,
    cluster::{Assignment, Cluster, Event, Member, OffsetCommit},
};

use crate::{
    broker::TestBroker,
    kit::{SHORT_SESSION, Site, block_on, stop},
};

/// What makes a broker usable soon after a crash: by default it waits until its former life has timed out.
const SOON_BACK: &[&str] = &[
    "broker.session.timeout.ms=1500",
    "broker.heartbeat.interval.ms=300",
];

static STALLED: TestBroker = TestBroker::new(SOON_BACK);
static KILLED: TestBroker = TestBroker::new(SOON_BACK);
static GONE: TestBroker = TestBroker::new(SOON_BACK);

const ROUND: usize = 200;

/// So many records: half of them of each key.
fn round() -> Vec<&'static str> {
    ["apple", "plum"].repeat(ROUND / 2)
}

/// Scenarios D11, G03: a broker that stalls for longer than a session, and than records may take: they are given up, the
/// partitions are lost, and all of that is done again once the broker goes on.
#[test]
fn g03_a_broker_stalls_for_longer_than_sessions_and_deliveries_may_take() {
    let Some(address) = STALLED.address() else { return };
    let site = Site::at(address, "stalled");
    block_on(async {
        site.make_topics(2).await;
        let state = tempfile::tempdir().unwrap();
        let app = site.app_cut_off(state.path()).configure(|settings| {
            settings.librdkafka.set("message.timeout.ms", "1500");
        });
        let running = app.start().unwrap();
        for rounds in 1..=3 {
            site.write(round()).await;
            // Somewhere in the middle of it.
            site.counted(&[&running], (rounds - 1) * ROUND + 1).await;
            STALLED.tell("freeze");
            site.pause(Duration::from_secs(4)).await;
            STALLED.tell("thaw");
            site.until_complete(&running, rounds).await;
        }
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// Scenario G03: brokers die and come back; nothing is lost.
#[test]
fn g03_a_broker_dies_and_comes_back() {
    let Some(address) = KILLED.address() else { return };
    let site = Site::at(address, "killed");
    block_on(async {
        site.make_topics(2).await;
        let state = tempfile::tempdir().unwrap();
        let running = site.app_cut_off(state.path()).start().unwrap();
        site.write(round()).await;
        // Somewhere in the middle of it.
        site.counted(&[&running], 1).await;
        KILLED.tell("kill");
        site.pause(Duration::from_secs(1)).await;
        KILLED.tell("start");
        site.until_complete(&running, 1).await;
        site.write(round()).await;
        site.until_complete(&running, 2).await;
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// Scenario G03: without brokers, what has nothing to commit stops at once, and what has something by its deadline, and
/// says what it is.
#[test]
fn g03_stops_without_brokers() {
    let Some(address) = GONE.address() else { return };
    let (idle, busy) = (Site::at(address, "idle"), Site::at(address, "busy"));
    block_on(async {
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut running = Vec::new();
        for (site, state) in [&idle, &busy].into_iter().zip(&states) {
            site.make_topics(2).await;
            let app = site.app_cut_off(state.path()).configure(|settings| {
                if site.name == "busy" {
                    settings.commit_interval = Some(Duration::from_secs(600));
                }
            });
            running.push(app.start().unwrap());
        }
        idle.write(round()).await;
        busy.write(round()).await;
        idle.counted(&[&running[0]], ROUND).await;
        busy.counted(&[&running[1]], ROUND).await;
        // The last commit of the idle one.
        running[0].drained().await.unwrap();
        let (member, commits) = idle.member("asks").await;
        GONE.tell("kill");
        idle.pause(Duration::from_secs(1)).await;

        // What was asked of a coordinator keeps nobody from leaving.
        let committing = member.group().commit(commits);
        let asked = idle.clock.now();
        member.leave().await.unwrap_err();
        let took = idle.clock.now().saturating_sub(asked);
        assert!(took < Duration::from_secs(20), "not for a session: {took:?}");
        drop(committing);

        let within = Duration::from_secs(60);
        let asked = idle.clock.now();
        running[0].shutdown(within);
        let outcome = running[0].wait().await;
        let took = idle.clock.now().saturating_sub(asked);
        assert_eq!(outcome, Ok(()), "after {took:?}");
        assert!(took < within / 2, "not until the deadline: {took:?}");

        let within = Duration::from_secs(3);
        let asked = idle.clock.now();
        running[1].shutdown(within);
        let outcome = running[1].wait().await;
        let took = idle.clock.now().saturating_sub(asked);
        assert!(matches!(outcome, Err(RunError::Deadline { .. })), "{outcome:?}");
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.contains("task 0_") && error.contains("processed again"),
            "{error}"
        );
        assert!(took < Duration::from_secs(30), "{took:?}");

        // What was not committed is done again.
        GONE.tell("start");
        let again = busy.app_cut_off(states[1].path()).start().unwrap();
        busy.until_complete(&again, 1).await;
        stop(&again, Duration::from_secs(20)).await;
    });
}

impl Site {
    /// A member of a group of its own, and a commit of all that it owns.
    pub(crate) async fn member(&self, group: &str) -> (Box<dyn Member>, Vec<OffsetCommit>) {
        let mut member = self.cluster.join(self.join_request(group)).unwrap();
        let Event::Assigned(assigned) = member.next_event().await else {
            panic!("nothing was assigned")
        };
        let commit = |assignment: Assignment| OffsetCommit {
            partition: assignment.partition,
            ownership: assignment.ownership,
            next: Offset::new(0),
            metadata: String::new(),
        };
        (member, assigned.into_iter().map(commit).collect())
    }

    /// Waits until each record of so many rounds has been counted; some perhaps twice.
    async fn until_complete(&self, running: &Running, rounds: usize) {
        let each = (rounds * ROUND / 2) as u64;
        self.counted_up_to(running, &["apple", "plum"], each).await;
    }

    /// An application that is cut off for longer than its session lasts.
    fn app_cut_off(&self, state: &Path) -> App {
        self.app(state)
            .configure(|settings| settings.session_timeout = SHORT_SESSION)
    }
}
