//! Two instances with one state directory, or what looks like it.

use std::{fs::File, io, sync::Arc, time::Duration};

use kproc_store::{DiskStep, Host};

use super::{super::kit::*, Act, SECOND, UNDISTURBED, assert_exact, settings, world, write_rounds};
use crate::{Clock, cluster::embedded::Verb, runtime::Settings};

/// A volume whose files cannot be told from those of the one it was copied from as a whole.
#[derive(Debug)]
struct Cloned;

impl Host for Cloned {
    fn boot(&self) -> Option<String> {
        Some("one".into())
    }

    fn allow(&self, _: DiskStep) -> io::Result<()> {
        Ok(())
    }

    fn original(&self, _: &File) -> Option<String> {
        Some("a file".into())
    }
}

/// An instance that has counted a round, and one whose state directory has its name.
fn original_and_copy(world: &mut World, settings: &Settings) -> [Instance; 2] {
    let first = world.start_with(settings.clone(), None);
    write_rounds(world, &first, 0..1);
    let copy = world.directory.path().join("b");
    std::fs::create_dir_all(copy.join(APP)).unwrap();
    let name = world.directory.path().join("a").join(APP).join(".instance");
    std::fs::copy(name, copy.join(APP).join(".instance")).unwrap();
    let settings = Settings {
        state_dir: copy,
        ..settings.clone()
    };
    let second = world.start_with(settings, None);
    [first, second]
}

/// The copy of a state directory takes a name of its own: neither ends what the other does.
#[test]
fn a_copied_state_directory_takes_a_name_of_its_own() {
    let (mut world, script) = world(5, |_| Act::Go);
    let settings = settings(&world, 30 * SECOND);
    let both = original_and_copy(&mut world, &settings);
    for round in 1..10 {
        for partition in 0..4 {
            world.write("words", partition, &format!("p{partition}"), round);
        }
        for instance in &both {
            world.drain(instance);
        }
    }
    for instance in &both {
        assert_eq!(world.stop(instance), Ok(()));
    }
    assert_exact(&mut world, 10);
    assert_eq!(script.count(Verb::InitTransactions), 2 * UNDISTURBED);
}

/// Two machines with copies of one volume: nothing tells them apart, until they end each other's transactions.
#[test]
fn a_copied_volume_is_found_out() {
    let (mut world, _) = world(5, |_| Act::Go);
    let mut settings = settings(&world, 30 * SECOND);
    settings.store.host = Some(Arc::new(Cloned));
    let [first, second] = original_and_copy(&mut world, &settings);
    let mut round = 1;
    let mut ended = |world: &World| {
        let ended = [&first, &second]
            .into_iter()
            .any(|instance| world.executor.alive(instance.crew) == 0);
        if !ended {
            for partition in 0..4 {
                world.write("words", partition, &format!("p{partition}"), round);
            }
            round += 1;
        }
        ended
    };
    let pace = world.clock();
    while !ended(&world) {
        world.finish(pace.sleep_until(pace.now() + Duration::from_millis(50)));
    }
    let mut words = Vec::new();
    for instance in [&first, &second] {
        if let Err(error) = world.stop(instance) {
            words.push(error.to_string());
        }
    }
    assert!(
        words.iter().any(|words| words.contains("another process uses")),
        "{words:?}"
    );
    // Whatever they did to each other, each record counts once.
    let last = world.start_with(
        Settings {
            state_dir: world.directory.path().join("c"),
            ..world.settings("c")
        },
        None,
    );
    world.drain(&last);
    assert_eq!(world.stop(&last), Ok(()));
    assert_exact(&mut world, round);
}
