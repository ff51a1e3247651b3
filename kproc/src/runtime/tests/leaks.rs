//! Partitions may come and go as often as they like: nothing of it stays.
//!
//! In a process of its own, for files and threads are counted.

use std::{fs, process::Command};

use crate::{runtime::TaskPhase, testing::exec::Executor};

use super::kit::*;

/// Open files and threads of this process.
fn held() -> (usize, usize) {
    let entries = |of: &str| fs::read_dir(format!("/proc/self/{of}")).unwrap().count();
    (entries("fd"), entries("task"))
}

/// How many tasks an instance processes.
fn running(instance: &Instance) -> usize {
    let tasks = instance.running.status().tasks.into_iter();
    tasks
        .filter(|task| matches!(task.phase, TaskPhase::Running { .. }))
        .count()
}

#[test]
fn g13_two_hundred_rounds_of_assigning_and_revoking_leave_nothing_open() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "runtime::tests::leaks::rounds",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("200 rounds"), "{said}");
}

#[test]
#[ignore = "is run by another test"]
fn rounds() {
    let mut world = World::of_words(Executor::new(13));
    let lasting = world.start("a");
    let mut baseline = None;
    for round in 0..200 {
        for partition in 0..4 {
            world.write("words", partition, "k", round);
        }
        let guest = world.start("b");
        world.until("the guest has half of the tasks", |_| running(&guest) == 2);
        // Every third one dies, and what it had is lost.
        if round % 3 == 2 {
            world.crash(&guest);
        } else {
            assert_eq!(world.stop(&guest), Ok(()));
        }
        world.until("all tasks are back", |_| running(&lasting) == 4);
        world.drain(&lasting);
        // The first rounds make what stays.
        let baseline = baseline.get_or_insert_with(held);
        if round < 5 {
            *baseline = held();
        }
        assert_eq!(held(), *baseline, "files and threads after round {round}");
    }
    println!("200 rounds: {baseline:?}");
    assert_eq!(world.stop(&lasting), Ok(()));
}
