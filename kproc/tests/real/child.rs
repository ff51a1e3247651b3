//! An application in a process of its own: it can be killed, frozen, and its log read.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use kproc::{Clock, cluster::Watermarks};

use crate::{
    broker::counts::{Counts, number_of},
    exactly_once::exactly,
    kit::{PATIENCE, Site, block_on},
};

/// What tells the other process what to do.
const BROKERS: &str = "KPROC_TEST_CHILD_BROKERS";
const NAME: &str = "KPROC_TEST_CHILD_NAME";
const STATE: &str = "KPROC_TEST_CHILD_STATE";
const TIMEOUT: &str = "KPROC_TEST_CHILD_TIMEOUT";

/// Counts the keys of a site. Its commits are large, so that it can be met in the middle of one.
pub(crate) struct Counter {
    process: Child,
    log: tempfile::TempDir,
}

impl Counter {
    /// Counts exactly once, by transactions with this time-out.
    pub(crate) fn start(site: &Site, state: &Path, timeout: Duration) -> Self {
        Self::start_with(site, state, Some(timeout))
    }

    /// Counts at least once.
    pub(crate) fn start_without_transactions(site: &Site, state: &Path) -> Self {
        Self::start_with(site, state, None)
    }

    fn start_with(site: &Site, state: &Path, timeout: Option<Duration>) -> Self {
        let timeout = timeout.map(|timeout| (TIMEOUT, timeout.as_secs().to_string()));
        let log = tempfile::tempdir().unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["child::counts", "--exact", "--ignored", "--nocapture"])
            .env(BROKERS, &site.brokers)
            .env(NAME, site.name)
            .env(STATE, state)
            .envs(timeout)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(log.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        Self { process, log }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log.path().join("log")).unwrap()
    }

    /// Waits until it has a transaction open that has come as far as this topic, and freezes it there. Returns where the topic
    /// ends.
    pub(crate) async fn freeze_in_transaction(&mut self, site: &Site, topic: &str) -> Watermarks {
        let patience = site.clock.now() + PATIENCE;
        let open = async || {
            let ends = site.ends(topic).await;
            (ends.latest > ends.stable).then_some(ends)
        };
        loop {
            if open().await.is_some() {
                self.signal("-STOP");
                // What was on its way, perhaps the end of the transaction, has arrived: the broker has answered many others since.
                let mut frozen = None;
                for _ in 0..20 {
                    site.pause(Duration::from_millis(25)).await;
                    frozen = open().await;
                    if frozen.is_none() {
                        break;
                    }
                }
                if let Some(frozen) = frozen {
                    return frozen;
                }
                self.signal("-CONT");
            }
            self.assert_alive();
            assert!(
                site.clock.now() < patience,
                "no transaction was met: {}",
                self.log()
            );
        }
    }

    /// Waits until that many counts are committed, at least, and gives all of them.
    pub(crate) async fn counted(&mut self, site: &Site, number: usize) -> Counts {
        let (mut patience, mut so_far) = (site.clock.now() + PATIENCE, 0);
        loop {
            let counts = site.counts().await;
            let seen = number_of(&counts);
            if seen >= number {
                return counts;
            }
            // As long as it goes on, it may be slow.
            if seen > so_far {
                (patience, so_far) = (site.clock.now() + PATIENCE, seen);
            }
            self.assert_alive();
            let log = self.log();
            assert!(
                site.clock.now() < patience,
                "after a long time, of {number}: {} {log}",
                number_of(&counts)
            );
            site.pause(Duration::from_millis(100)).await;
        }
    }

    pub(crate) fn assert_alive(&mut self) {
        assert!(!self.has_failed(), "it has failed: {}", self.log());
    }

    /// Whether it has ended without having been asked to.
    pub(crate) fn has_failed(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let number = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &number]).status();
        assert!(sent.unwrap().success());
    }

    /// Kills it, whatever it does.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops it, which must end well. Returns its log.
    pub(crate) fn stop(mut self) -> String {
        drop(self.process.stdin.take());
        let status = self.process.wait().unwrap();
        let log = self.log();
        assert!(status.success(), "{log}");
        log
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The other process. It stops when its standard input ends.
#[test]
#[ignore = "is run by other tests"]
fn counts() {
    let Ok(brokers) = std::env::var(BROKERS) else {
        return;
    };
    let variable = |name| std::env::var(name).unwrap();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    let site = Site::at(&brokers, variable(NAME).leak());
    let timeout = std::env::var(TIMEOUT).ok();
    let timeout = timeout.map(|timeout| Duration::from_secs(timeout.parse().unwrap()));
    let app = site.app(variable(STATE).as_ref()).configure(|settings| {
        settings.session_timeout = Duration::from_secs(5);
        settings.commit_interval = Some(Duration::from_secs(1));
    });
    let app = match timeout {
        Some(timeout) => exactly(app, timeout),
        None => app,
    };
    let running = app.start().unwrap();
    let handle = running.clone();
    std::thread::spawn(move || {
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        handle.shutdown(Duration::from_secs(20));
    });
    block_on(running.wait()).unwrap();
}
