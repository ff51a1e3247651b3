//! The disk refuses one step, any of them: the error says where, and what is found afterwards is whole.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use kproc_store::{
    Condition, DiskStep, Environment, EnvironmentOptions, Host, Marks, Offset, Store, StoreError, Table,
};

use crate::common::{NOW, One, fast_directory, point, small};

/// A machine whose disk refuses the step with this number, and those that come after it while it is `ill`.
#[derive(Debug, Default)]
struct Machine {
    boot: Mutex<String>,
    asked: AtomicU64,
    refuses: AtomicU64,
    error: i32,
    reached: Mutex<BTreeSet<DiskStep>>,
}

impl Host for Machine {
    fn boot(&self) -> Option<String> {
        Some(self.boot.lock().unwrap().clone())
    }

    fn allow(&self, step: DiskStep) -> io::Result<()> {
        self.reached.lock().unwrap().insert(step);
        if self.asked.fetch_add(1, Relaxed) + 1 == self.refuses.load(Relaxed) {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        Ok(())
    }
}

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// The state after so many commits: each writes over all keys, and makes the map grow.
fn value(commit: u64) -> Vec<u8> {
    vec![commit as u8; 4000]
}

const KEYS: u64 = 300;

/// What went wrong, in words; `None`: nothing did.
fn live(directory: &Path, machine: &Arc<Machine>, commits: std::ops::Range<u64>) -> Option<String> {
    let options = EnvironmentOptions {
        host: Some(machine.clone()),
        ..small()
    };
    let mut table = Table::<u64, Vec<u8>>::default();
    let spec = table.spec("things".into());
    let opened = match Environment::open(directory, &[spec], &options) {
        Ok(opened) => opened,
        Err(error) => return Some(error.to_string()),
    };
    let environment = opened.environment;
    let marks = Arc::new(Marks::default());
    table.attach(environment.buffer(0, &marks).unwrap());
    let mut trouble = None;
    for commit in commits {
        for key in 0..KEYS {
            table.put(&key, &value(commit)).unwrap();
        }
        let buffer = table.buffer().unwrap();
        if let Err(error) = environment.commit(&mut [(0, buffer)], &point(commit)) {
            assert!(
                machine.error == EIO
                    || matches!(error, StoreError::DiskFull { .. })
                    || error.to_string().contains("growing"),
                "{error}"
            );
            trouble.get_or_insert(error.to_string());
            // It can be repeated.
            environment
                .commit(&mut [(0, table.buffer().unwrap())], &point(commit))
                .unwrap();
        }
    }
    table.detach();
    if let Err(error) = environment.close() {
        trouble.get_or_insert(error.to_string());
    }
    trouble
}

/// What was logged meanwhile.
fn logged(act: impl FnOnce()) -> String {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone());
    tracing::subscriber::with_default(subscriber.finish(), act);
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// What is found on a disk that is well again: after which commit, and whether it is all of that.
fn found(directory: &Path, machine: &Arc<Machine>) -> (Condition, Option<u64>) {
    let options = EnvironmentOptions {
        host: Some(machine.clone()),
        ..small()
    };
    let mut table = Table::<u64, Vec<u8>>::default();
    let spec = table.spec("things".into());
    let opened = Environment::open(directory, &[spec], &options).unwrap();
    let position = opened.environment.position(0).unwrap().map(Offset::get);
    table.attach(opened.environment.buffer(0, &Arc::new(Marks::default())).unwrap());
    let entries = table.iter().map(Result::unwrap);
    let all: Vec<(u64, Vec<u8>)> = entries.map(|(key, value)| (key, value.to_vec())).collect();
    match position {
        None => assert!(all.is_empty(), "state without a position"),
        Some(commit) => {
            assert_eq!(all.len() as u64, KEYS);
            assert!(
                all.iter().all(|(_, found)| *found == value(commit)),
                "not that of commit {commit}"
            );
        }
    }
    table.detach();
    opened.environment.close().unwrap();
    (opened.condition, position)
}

/// Something to be found at the beginning.
type Past = (&'static str, fn(&Path, &Arc<Machine>));

const PASTS: &[Past] = &[
    ("nothing", |_, _| {}),
    ("a state", |directory, machine| {
        assert_eq!(live(directory, machine, 1..2), None);
    }),
    ("a damaged state", |directory, machine| {
        assert_eq!(live(directory, machine, 1..2), None);
        fs::write(directory.join("data.mdb"), "nonsense").unwrap();
    }),
    ("a state of before the power failed", |directory, machine| {
        assert_eq!(live(directory, machine, 1..2), None);
        let sidecar = directory.join("state.json");
        let dirty = fs::read_to_string(&sidecar)
            .unwrap()
            .replace("\"clean\":true", "\"clean\":false");
        fs::write(sidecar, dirty).unwrap();
        *machine.boot.lock().unwrap() = "another".into();
    }),
];

#[test]
fn d19_whatever_the_disk_refuses_is_told_and_nothing_is_half_done() {
    let mut reached = BTreeSet::new();
    for (past, prepare) in PASTS {
        for error in [ENOSPC, EIO] {
            for refused in 1.. {
                let directory = fast_directory();
                let directory = directory.path().join("state");
                let machine = Arc::new(Machine {
                    error,
                    ..Machine::default()
                });
                prepare(&directory, &machine);
                let what = format!("{past}, error {error}, step {refused}");
                machine.asked.store(0, Relaxed);
                machine.refuses.store(refused, Relaxed);
                let told = live(&directory, &machine, 2..4);
                let steps = machine.asked.load(Relaxed);
                machine.refuses.store(0, Relaxed);
                if let Some(told) = &told {
                    let path = directory.display().to_string();
                    assert!(told.contains(&path), "{what}: {told}");
                }
                let (condition, position) = found(&directory, &machine);
                match (&condition, position) {
                    (Condition::Intact, Some(1..=3)) | (Condition::New | Condition::Rebuild { .. }, None) => {
                    }
                    // It was begun anew, and nothing was written.
                    (Condition::Intact, None) if told.is_some() => {}
                    found => panic!("{what}: {told:?}, then {found:?}"),
                }
                // What was never made is not missed.
                if let (&"nothing", Condition::Rebuild { reason, .. }) = (past, &condition) {
                    assert!(
                        reason.contains("did not take what was written"),
                        "{what}: {reason}"
                    );
                }
                reached.append(&mut machine.reached.lock().unwrap());
                if refused > steps {
                    assert_eq!((told, position), (None, Some(3)), "{what}");
                    break;
                }
            }
        }
    }
    assert_eq!(reached, BTreeSet::from(DiskStep::ALL));
}

/// The next opening finds nothing that could be the reason any more.
#[test]
fn d19_why_a_state_is_made_anew_is_told_also_if_the_making_fails() {
    let anew = [
        DiskStep::SetAside,
        DiskStep::Remove,
        DiskStep::OpenData,
        DiskStep::MakeStores,
    ];
    let mut failed = 0;
    for refused in 1.. {
        let directory = fast_directory();
        let directory = directory.path().join("state");
        let machine = Arc::new(Machine {
            error: EIO,
            ..Machine::default()
        });
        assert_eq!(live(&directory, &machine, 1..2), None);
        fs::write(directory.join("data.mdb"), "nonsense").unwrap();
        machine.asked.store(0, Relaxed);
        machine.reached.lock().unwrap().clear();
        machine.refuses.store(refused, Relaxed);
        let mut told = None;
        let log = logged(|| told = live(&directory, &machine, 2..2));
        let reached = machine.reached.lock().unwrap().clone();
        if anew.iter().any(|step| reached.contains(step)) {
            let path = directory.display().to_string();
            assert!(
                log.contains("made anew") && log.contains(&path),
                "{refused}: {log}"
            );
            failed += usize::from(told.is_some());
        }
        if told.is_none() {
            break;
        }
    }
    assert!(failed >= anew.len(), "{failed}");
}

/// What is synced with each commit is trusted after a power loss; so the sidecar must not be lost with it.
#[test]
fn a_sidecar_of_what_is_synced_is_synced_whenever_it_is_written() {
    let directory = fast_directory();
    let machine = Arc::new(Machine::default());
    let options = EnvironmentOptions {
        host: Some(machine.clone()),
        sync: true,
        ..small()
    };
    let open = || One::<Vec<u8>, Vec<u8>>::open_with(directory.path(), &options);
    drop(open());
    let mut one = open();
    one.commit_at(NOW);
    machine.reached.lock().unwrap().clear();
    one.commit_at(NOW.saturating_add(Duration::from_secs(600)));
    let reached = machine.reached.lock().unwrap();
    assert!(
        reached.contains(&DiskStep::PlaceSidecar),
        "that it was at work is told"
    );
    assert!(reached.contains(&DiskStep::SyncSidecar), "{reached:?}");
}
