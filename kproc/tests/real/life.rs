//! What every application goes through: starts and stops.

use std::time::Duration;

use crate::kit::{Site, block_on, stop};

/// Scenario G08: a stop commits all that was done, and the next start goes on from there.
#[test]
fn g08_counts_go_on_after_a_stop() {
    let Some(site) = Site::shared("g08") else { return };
    block_on(async {
        site.make_topics(2).await;
        let state = tempfile::tempdir().unwrap();
        for round in 1..=3 {
            let running = site.app(state.path()).start().unwrap();
            site.write(["apple", "plum"]).await;
            let counts = site.counted(&[&running], 2 * round).await;
            stop(&running, Duration::from_secs(20)).await;
            let exact: Vec<u64> = (1..=round as u64).collect();
            assert_eq!((&counts["apple"], &counts["plum"]), (&exact, &exact));
        }
    });
}
