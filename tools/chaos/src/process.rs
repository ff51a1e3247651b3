//! A process of the application: started, signalled, and never outliving this one.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};

use crate::{count::APP, options::Options};

/// Names to a process the one whose death is its own.
const PARENT: &str = "CHAOS_PARENT";

/// Does not outlive the process that has started this one, if that asked for it. (Strictly, the thread that did.)
pub(crate) fn end_with_parent() -> io::Result<()> {
    let Some(parent) = std::env::var_os(PARENT) else {
        return Ok(());
    };
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before.
    let is_there = getppid().is_some_and(|pid| *pid.as_raw_nonzero().to_string() == *parent);
    let gone = || io::Error::other("the process that has started this one is gone");
    is_there.then_some(()).ok_or_else(gone)
}

/// One of the processes, whether it runs or not.
pub(crate) struct Process {
    pub(crate) number: usize,
    directory: PathBuf,
    arguments: Vec<OsString>,
    child: Option<Child>,
}

impl Process {
    /// The process of this number. It has a directory of its own in `directory`, for state and log.
    pub(crate) fn new(options: &Options, brokers: &str, directory: &Path, number: usize) -> io::Result<Self> {
        let directory = directory.join(number.to_string());
        fs::create_dir_all(&directory)?;
        let text = |text: String| OsString::from(text);
        let arguments = vec![
            text("run".into()),
            text(format!("--brokers={brokers}")),
            text(format!("--processing={}", options.processing.name())),
            text(format!("--session-timeout={}s", options.session.as_secs())),
            text(format!(
                "--transaction-timeout={}s",
                options.transaction.as_secs()
            )),
            text("--commit-interval=100ms".into()),
            text("--stop-timeout=20s".into()),
            text("--threads=2".into()),
            text("--log=info,kproc=debug".into()),
            text("--log-format=json".into()),
        ];
        let process = Self {
            number,
            directory,
            arguments,
            child: None,
        };
        Ok(process)
    }

    /// Where its state is.
    pub(crate) fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    /// Where its log is.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("log.jsonl")
    }

    /// Starts it. Only from a thread that lives as long as the process is to.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        let mut state = OsString::from("--state-dir=");
        state.push(self.state());
        let log = self.open_log()?;
        self.note("started")?;
        let child = Command::new(std::env::current_exe()?)
            .arg("count")
            .args(&self.arguments)
            .arg(state)
            .env(PARENT, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Its number for the system, while it is there.
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.child.as_ref().map(Pid::from_child)
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        // A child that was not waited for keeps its number: nobody else can be hit.
        self.pid().map_or(Ok(()), |pid| Ok(kill_process(pid, signal)?))
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// How it has ended, if it has since this was last asked.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else {
            return Ok(None);
        };
        let status = child.try_wait()?;
        if status.is_some() {
            self.child = None;
        }
        Ok(status)
    }

    /// Removes its state, while it does not run. What names it, its transactions' ids, is in there, too.
    pub(crate) fn wipe(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.state()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.note("wiped"),
        }
    }

    /// Where the state of a partition would be.
    pub(crate) fn environment(&self, partition: u32) -> PathBuf {
        self.state().join(APP).join("count").join(partition.to_string())
    }

    /// Adds a line of what was done to it to its log.
    pub(crate) fn note(&self, what: &str) -> io::Result<()> {
        writeln!(self.open_log()?, "{{\"chaos\":\"{what}\"}}")
    }

    fn open_log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).open(self.log())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It would die with this process anyway.
        let _ = self.kill();
    }
}
