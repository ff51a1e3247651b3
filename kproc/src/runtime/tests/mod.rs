//! The runtime on the embedded cluster, under the seeded executor.

mod ages;
mod denied;
mod draining;
mod failing;
mod kit;
mod leaks;
mod owed;
mod producing;
mod rebalancing;
mod restoring;
mod sim;
mod starting;
mod stopping;
mod stuck;
mod surroundings;
mod threads;
mod topics;
mod transactions;
mod versions;
mod waiting;

use self::kit::*;
use crate::{runtime::RunState, testing::exec::Executor};

#[test]
fn the_thinnest_path_counts_commits_and_goes_on_after_a_restart() {
    let mut world = World::of_words(Executor::new(1));
    for number in 0..40 {
        world.write(
            "words",
            number % 4,
            &format!("k{}", number % 8),
            i64::from(number),
        );
    }
    let first = world.start("a");
    world.drain(&first);
    assert_eq!(first.running.status().state, RunState::Running);
    assert_eq!(world.stop(&first), Ok(()));
    assert_eq!(first.running.status().state, RunState::Stopped);
    let counts = world.last_values("counts", 4);
    assert_eq!(counts.len(), 8);
    assert!(counts.values().all(|count| *count == 5), "{counts:?}");
    assert_eq!(world.last_values(CHANGELOG, 4), counts);

    world.write("words", 0, "k0", 100);
    let second = world.start("a");
    world.drain(&second);
    assert_eq!(world.stop(&second), Ok(()));
    assert_eq!(
        world.diary.lines().len(),
        41,
        "a clean stop leaves nothing to be processed again"
    );
    assert_eq!(world.last_values("counts", 4)["k0"], 6);
}
