//! State directories of which there are two.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

use kproc::Clock;

use crate::{
    broker::counts::{Counts, number_of},
    child::Counter,
    diary::{partitions, until},
    exactly_once::{exactly, up_to},
    kit::{PATIENCE, Site, block_on, stop},
};

/// A copy of a state directory has the name of the instance that it was made of, which goes on. It is seen to be a copy,
/// takes a name of its own, and both do their part.
#[test]
fn a_copied_state_directory_takes_a_name_of_its_own() {
    let Some(site) = Site::shared("copied") else {
        return;
    };
    block_on(async {
        // Two for each instance, and so one for each of its workers, whose ids would be the other's, too.
        site.make_topics(4).await;
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [one, other] = states.each_ref().map(tempfile::TempDir::path);
        let start = |state| exactly(site.app(state), Duration::from_secs(60)).start().unwrap();
        let first = start(one);
        let keys: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        site.write(&keys).await;
        site.counted(&[&first], keys.len()).await;
        copy(&one.join(site.name), &other.join(site.name));
        let second = start(other);
        until(&site, "the copy has its half", || partitions(&second).len() == 2).await;
        assert_ne!(site.transactional_id(one), site.transactional_id(other));
        // Of one name, they would end each other's transactions with each of these.
        for rounds in 2..=10 {
            site.write(&keys).await;
            let counts = site.counted(&[&first, &second], rounds * keys.len()).await;
            for (key, counts) in counts {
                assert_eq!(counts, up_to(rounds), "{key}");
            }
        }
        for running in [&first, &second] {
            stop(running, Duration::from_secs(20)).await;
        }
    });
}

/// A volume that was copied as a whole has the instance's name in it, and nothing tells it from the other. Two processes of one
/// name end each other's transactions. Neither loses or repeats anything, and who is ended says why. That may be both: each has two producers, and each process may
/// be the one that is fenced once more than the other on one of the two ids.
#[test]
fn a_copied_volume_is_told_of_by_who_finds_itself_fenced() {
    let Some(site) = Site::shared("cloned") else {
        return;
    };
    let timeout = Duration::from_secs(10);
    block_on(async {
        // Two for each process, and so one for each of its workers, whose ids the other process has, too.
        site.make_topics(4).await;
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [one, other] = states.each_ref().map(tempfile::TempDir::path);
        let mut first = Counter::start(&site, one, timeout);
        let keys: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        let mut written = 1;
        site.write(&keys).await;
        first.counted(&site, keys.len()).await;
        first.stop();

        copy(&one.join(site.name), &other.join(site.name));
        pass_for_the_original(&other.join(site.name));
        let mut both = [one, other].map(|state| Counter::start(&site, state, timeout));
        // Six fencings, with growing pauses between them.
        let patience = site.clock.now() + 5 * PATIENCE;
        while !both.iter_mut().any(Counter::has_failed) {
            assert!(
                site.clock.now() < patience,
                "{}\n\n{}",
                both[0].log(),
                both[1].log()
            );
            // Something of either's partition.
            site.write(&keys).await;
            written += 1;
            site.pause(Duration::from_millis(200)).await;
        }
        // Whoever is left goes on; if nobody is, the next one does.
        let counts = loop {
            if let Some(counts) = counted_by_any(&site, &mut both, written * keys.len()).await {
                break counts;
            }
            both.iter().for_each(says_that_it_is_one_of_two);
            both[0] = Counter::start(&site, one, timeout);
        };
        for (key, counts) in counts {
            assert_eq!(counts, up_to(written), "{key}");
        }
        for mut counter in both {
            if counter.has_failed() {
                says_that_it_is_one_of_two(&counter);
            } else {
                counter.stop();
            }
        }
    });
}

/// Makes a copy of an application's directory one that cannot be told from the original, as if its whole volume had been copied.
fn pass_for_the_original(directory: &Path) {
    let file = directory.join(".instance");
    let metadata = fs::metadata(&file).unwrap();
    let made = metadata.created().unwrap().duration_since(SystemTime::UNIX_EPOCH);
    let record = fs::read_to_string(&file).unwrap();
    let (name, _) = record.split_once(' ').expect("it tells which file it is");
    // The file stays the same.
    let forged = format!("{name} {}-{}\n", metadata.ino(), made.unwrap().as_nanos());
    fs::write(file, forged).unwrap();
}

/// All counts, once there are so many. None: every process has ended before.
async fn counted_by_any(site: &Site, counters: &mut [Counter], number: usize) -> Option<Counts> {
    let patience = site.clock.now() + PATIENCE;
    loop {
        let counts = site.counts().await;
        if number_of(&counts) >= number {
            return Some(counts);
        }
        if counters.iter_mut().all(Counter::has_failed) {
            return None;
        }
        assert!(site.clock.now() < patience, "{} of {number}", number_of(&counts));
        site.pause(Duration::from_millis(100)).await;
    }
}

fn says_that_it_is_one_of_two(ended: &Counter) {
    let log = ended.log();
    assert!(
        log.contains("another process uses the transactional id `cloned-"),
        "{log}"
    );
    assert!(log.contains("a clone of another instance's"), "{log}");
}

/// Copies a directory with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
