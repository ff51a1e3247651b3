//! The answers stay right when the application is stopped half-way and started again, and nothing is missing
//! after a crash.

use std::{collections::BTreeMap, fmt::Debug, path::Path, sync::Arc, time::Duration};

use crate::batch::{aircraft_totals, assert_same, hourly_delays};
use flights::{AIRCRAFT_TOTALS, HOURLY_DELAYS};
use kproc::{
    App, Codec, Partition, Running, SystemClock, Topic, TopicPartition,
    cluster::{
        Cluster, Isolation,
        embedded::{EmbeddedCluster, EmbeddedConnection, EmbeddedOptions, RealDriver},
    },
    codec::Own,
};

const PARTITIONS: u32 = 4;
/// A quarter of all that is to be read: far from the begin, and far from the end.
const SOME: u64 = 674_362 / 4;

fn app(connection: &Arc<EmbeddedConnection>, state: &Path) -> App {
    flights::app().on(connection.clone()).configure(|settings| {
        settings.state_dir = Some(state.to_owned());
        settings.commit_interval = Some(Duration::from_millis(50));
        settings.session_timeout = Duration::from_millis(500);
    })
}

/// A cluster with all input in it.
fn fed(state: &Path) -> EmbeddedCluster {
    let driver = RealDriver::new(Arc::new(SystemClock::new())).unwrap();
    let cluster = EmbeddedCluster::new(
        driver,
        EmbeddedOptions {
            auto_create: Some(PARTITIONS),
            ..Default::default()
        },
    );
    app(&cluster.connect(), state)
        .feed(PARTITIONS, flights::feed::feed)
        .unwrap();
    cluster
}

/// Waits until the group has committed so many records. The application runs on meanwhile.
async fn committed(cluster: &dyn Cluster, records: u64) {
    let mut admin = cluster.admin().unwrap();
    loop {
        let offsets = admin.group_offsets("flights".into()).await.unwrap();
        if offsets.iter().map(|(_, offset)| offset.next.get()).sum::<u64>() >= records {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn finish(running: &Running) {
    running.drained().await.unwrap();
    running.shutdown(Duration::from_secs(30));
    running.wait().await.unwrap();
}

/// The last value of each key of a topic.
async fn last_values<K, V>(cluster: &dyn Cluster, topic: &Topic<K, V>) -> BTreeMap<K::Owned, V::Owned>
where
    K: Codec + Own<Owned: Ord>,
    V: Codec + Own,
{
    let mut reader = cluster.reader(Isolation::ReadCommitted).unwrap();
    let mut last = BTreeMap::new();
    for number in 0..PARTITIONS {
        let partition = Partition::new(number);
        let place = TopicPartition::new(topic.name(), partition);
        let ends = reader.watermarks(place.clone()).await.unwrap();
        let mut next = ends.earliest;
        while next < ends.stable {
            let mut read = reader
                .read(place.clone(), next, 1000, Duration::ZERO)
                .await
                .unwrap();
            while let Some(record) = read.batch.record(0, partition) {
                let key = K::own(K::decode(record.key.unwrap()).unwrap());
                last.insert(key, V::own(V::decode(record.value.unwrap()).unwrap()));
                read.batch.advance();
            }
            next = read.next;
        }
    }
    last
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(test);
}

#[test]
fn stopped_half_way_and_started_again() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let cluster = fed(directory.path());
        let connection = cluster.connect();
        let first = app(&connection, directory.path()).start().unwrap();
        committed(&*connection, SOME).await;
        first.shutdown(Duration::from_secs(30));
        first.wait().await.unwrap();
        let half_way = last_values(&*connection, &HOURLY_DELAYS).await;
        assert!(
            half_way != hourly_delays(),
            "all was done before the stop: there was nothing to go on with"
        );

        let second = app(&connection, directory.path()).start().unwrap();
        finish(&second).await;
        assert_same(&last_values(&*connection, &HOURLY_DELAYS).await, &hourly_delays());
        assert_same(
            &last_values(&*connection, &AIRCRAFT_TOTALS).await,
            &aircraft_totals(),
        );
    });
}

/// Every key is there, and counts at least what it should.
#[track_caller]
fn assert_nothing_missing<K: Ord + Debug, V: Debug>(
    found: &BTreeMap<K, V>,
    wanted: &BTreeMap<K, V>,
    count: impl Fn(&V) -> Vec<u64>,
) {
    assert!(found.keys().eq(wanted.keys()));
    for ((key, found), wanted) in found.iter().zip(wanted.values()) {
        let enough = count(found)
            .iter()
            .zip(count(wanted))
            .all(|(found, wanted)| *found >= wanted);
        assert!(enough, "{key:?}: {found:?}, and should be at least {wanted:?}");
    }
}

fn crash(second_state: impl FnOnce(&Path) -> std::path::PathBuf) {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let cluster = fed(directory.path());
        let (first, second) = (cluster.connect(), cluster.connect());
        let running = app(&first, directory.path()).start().unwrap();
        committed(&*first, SOME).await;
        // From here on nothing of the first instance arrives: neither its commits nor that it leaves.
        first.sever();
        running.shutdown(Duration::ZERO);
        running.wait().await.unwrap_err();

        let again = app(&second, &second_state(directory.path())).start().unwrap();
        finish(&again).await;
        assert_nothing_missing(
            &last_values(&*second, &HOURLY_DELAYS).await,
            &hourly_delays(),
            |delays| vec![delays.flights, delays.cancelled],
        );
        assert_nothing_missing(
            &last_values(&*second, &AIRCRAFT_TOTALS).await,
            &aircraft_totals(),
            |totals| vec![totals.flights, totals.miles, totals.air_min],
        );
    });
}

#[test]
fn crashed_and_restarted_with_its_state() {
    crash(Path::to_owned);
}

#[test]
fn crashed_and_restarted_elsewhere() {
    crash(|first| first.join("elsewhere"));
}
