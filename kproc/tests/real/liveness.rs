//! Who does not get on leaves; who has nothing to do stays; who is back is soon at work.

use std::{
    sync::{Arc, Mutex, mpsc::channel},
    time::Duration,
};

use kproc::{Clock, RunError, RunState};

use crate::{
    diary::{Diary, Whim, diarist, partitions, until, write},
    kit::{Site, block_on, stop},
};

/// Scenario C10: a handler that blocks its thread for ever. The instance leaves although nobody can end the thread, the
/// other one gets the partition within a heartbeat or two, long before the session is over; and what the handler does
/// when it comes back after all is neither sent nor committed.
#[test]
fn c10_an_instance_whose_handler_blocks_leaves_at_once() {
    let Some(site) = Site::shared("c10") else { return };
    block_on(async {
        site.make_topics(2).await;
        let (diary, states) = (Diary::default(), [(), ()].map(|()| tempfile::tempdir().unwrap()));
        let (release, blocked) = channel::<()>();
        let blocked = Mutex::new(blocked);
        let whim: Whim = Arc::new(move |record| {
            if record.key == Some(b"poison") {
                // An error is the end of the test.
                let _ = blocked.lock().unwrap().recv();
            }
        });
        let held = Arc::downgrade(&whim);
        let mut whim = Some(whim);
        let running = [1, 2].map(|instance| {
            let state = &states[instance as usize - 1];
            let app = diarist(&site, instance, state.path(), &diary, whim.take());
            app.configure(|settings| {
                settings.stuck_after = Duration::from_secs(3);
                settings.session_timeout = Duration::from_secs(60);
                settings.heartbeat_interval = Some(Duration::from_millis(200));
            })
            .start()
            .unwrap()
        });
        let [first, second] = &running;
        until(&site, "each has a partition", || {
            running.iter().all(|running| partitions(running).len() == 1)
        })
        .await;
        let partition = partitions(first)[0];
        write(&site, partition, "poison", 1).await;
        let error = first.wait().await.unwrap_err();
        let left = site.clock.now();
        assert!(
            matches!(&error, RunError::Stuck { record: Some((at, offset)), blocks: true, .. }
                if at.partition.get() == partition && offset.get() == 0),
            "{error}"
        );
        assert_eq!(first.status().state, RunState::Failed);
        until(&site, "the other one has done it", || {
            diary.offsets(partition) == [0]
        })
        .await;
        let took = site.clock.now().saturating_sub(left);
        println!("taken over after {took:?}");
        assert!(took < Duration::from_secs(20), "{took:?}");

        let counts = site.counted(&[second], 1).await;
        release.send(()).unwrap();
        until(&site, "the worker ends", || held.strong_count() == 0).await;
        assert_eq!(diary.offsets(partition), [0, 0], "it has come back");
        stop(second, Duration::from_secs(20)).await;
        assert_eq!(site.counts().await, counts);
    });
}

/// Scenario C11: no records for longer than the limit, in the worker and on the thread that polls.
#[test]
fn c11_an_idle_topic_never_looks_stuck() {
    let Some(site) = Site::shared("c11") else { return };
    block_on(async {
        site.make_topics(1).await;
        let (diary, state) = (Diary::default(), tempfile::tempdir().unwrap());
        let app = diarist(&site, 1, state.path(), &diary, None);
        let limit = Duration::from_secs(1);
        let running = app
            .configure(|settings| settings.stuck_after = limit)
            .start()
            .unwrap();
        until(&site, "it has the partition", || partitions(&running).len() == 1).await;
        site.pause(limit * 4).await;
        assert_eq!(running.status().state, RunState::Running);
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(diary.lines().len(), 2, "one tenure: {:?}", diary.lines());
    });
}

/// The bound of the quickest restart here, in a debug build. It takes a tenth of a second; whatever librdkafka has to do twice
/// costs half a second, or three.
const RESTART: Duration = Duration::from_millis(2500);
/// The bound of any, on a machine that is busy with other things. A session lasts for longer.
const SLOW_RESTART: Duration = Duration::from_secs(30);

/// A clean stop leaves the group at once, so that the next start gets the partitions without waiting for a session to
/// end, and goes on with the state that is there.
#[test]
fn a_restart_is_at_its_first_record_within_a_second() {
    let Some(site) = Site::shared("restart") else {
        return;
    };
    block_on(async {
        let times = restarts(&site, 3).await;
        println!("first record after {times:?}");
        assert!(times.iter().min() < Some(&RESTART), "{times:?}");
        assert!(times.iter().all(|time| *time < SLOW_RESTART), "{times:?}");
    });
}

/// Prints times: `cargo test --release -p kproc --test real -- --ignored restart_times --nocapture`.
#[test]
#[ignore = "measures"]
fn restart_times() {
    let Some(site) = Site::shared("restart-times") else {
        return;
    };
    block_on(async {
        let mut times = restarts(&site, 10).await;
        times.sort();
        println!("median {:?} of {times:?}", times[times.len() / 2]);
    });
}

/// From a start to the first record, for a number of restarts with the session time-out of the default.
async fn restarts(site: &Site, number: usize) -> Vec<Duration> {
    site.make_topics(2).await;
    let (diary, state) = (Diary::default(), tempfile::tempdir().unwrap());
    let mut times = Vec::new();
    for round in 0..=number {
        write(site, 0, "key", 1).await;
        let begun = site.clock.now();
        let app = diarist(site, round as u64, state.path(), &diary, None);
        let running = app
            .configure(|settings| {
                settings.session_timeout = Duration::from_secs(45);
                settings.heartbeat_interval = None;
            })
            .start()
            .unwrap();
        until(site, "it has processed the record", || {
            diary.offsets(0).len() == round + 1
        })
        .await;
        let took = site.clock.now().saturating_sub(begun);
        stop(&running, Duration::from_secs(20)).await;
        // The first one makes changelogs.
        if round > 0 {
            times.push(took);
        }
    }
    times
}
