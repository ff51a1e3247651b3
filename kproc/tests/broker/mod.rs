//! A real Kafka for tests: a broker that ends when the process does, however that happens.
#![allow(dead_code, reason = "not every test harms its broker")]

pub(crate) mod counts;
pub(crate) mod signals;

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// A broker that is started when it is first asked for, for all tests of a process.
pub(crate) struct TestBroker {
    settings: &'static [&'static str],
    running: OnceLock<Result<Running, String>>,
}

struct Running {
    address: String,
    controller: u16,
    /// Where it keeps everything, if it is this process's own.
    directory: Option<PathBuf>,
    /// The broker stops when its standard input ends: with this process.
    process: Option<Mutex<Process>>,
}

struct Process {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl TestBroker {
    /// A broker with these settings (`name=value`) beside those that all have.
    pub(crate) const fn new(settings: &'static [&'static str]) -> Self {
        Self {
            settings,
            running: OnceLock::new(),
        }
    }

    /// Where the broker is; `None`: there is none to be had here, which was said. With `CI=true` that is a failure.
    ///
    /// `KPROC_TEST_BROKERS` names one without settings that runs already.
    pub(crate) fn address(&self) -> Option<&str> {
        self.address_or(|| start(self.settings))
    }

    /// The same for a broker of the cluster of `first`, which has the controller.
    pub(crate) fn address_beside(&self, first: &Self) -> Option<&str> {
        first.address()?;
        let Some(Ok(first)) = first.running.get() else {
            return None;
        };
        self.address_or(|| {
            let voters = format!("controller.quorum.voters=1@127.0.0.1:{}", first.controller);
            let (port, unused) = free_ports().map_err(|error| format!("no free ports: {error}"))?;
            let listeners = format!("listeners=PLAINTEXT://127.0.0.1:{port}");
            let own = ["process.roles=broker", "node.id=2", &voters, &listeners];
            start_at(port, unused, &[self.settings, &own].concat())
        })
    }

    /// The same for a broker that has a second address, at the port `outside`: whoever comes there is to be handed on to the port
    /// `inside`.
    pub(crate) fn address_behind(&self, outside: u16, inside: u16) -> Option<&str> {
        self.address_or(|| {
            let (port, controller) = free_ports().map_err(|error| format!("no free ports: {error}"))?;
            let local = |name: &str, port: u16| format!("{name}://127.0.0.1:{port}");
            let own = local("PLAINTEXT", port);
            let listeners = format!(
                "listeners={own},{},{}",
                local("BEHIND", inside),
                local("CONTROLLER", controller)
            );
            let advertised = format!("advertised.listeners={own},{}", local("BEHIND", outside));
            let protocols =
                "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BEHIND:PLAINTEXT";
            let own = [&*listeners, &*advertised, protocols];
            start_at(port, controller, &[self.settings, &own].concat())
        })
    }

    fn address_or(&self, start: impl FnOnce() -> Result<Running, String>) -> Option<&str> {
        match self.running.get_or_init(start) {
            Ok(running) => Some(&running.address),
            Err(reason) => {
                let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
                assert!(!ci, "no Kafka broker: {reason}");
                eprintln!("SKIPPED: this test needs a Kafka broker, and there is none: {reason}");
                None
            }
        }
    }

    /// Where the broker keeps everything, once it was started, if it is this process's own.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.running.get()?.as_ref().ok()?.directory.as_deref()
    }

    /// Does something to the broker, which must be running and this process's own: `kill`, `stop`, `start`, `freeze` or
    /// `thaw`. Returns when it is done.
    pub(crate) fn tell(&self, what: &str) {
        let Some(Ok(running)) = self.running.get() else {
            panic!("the broker was not started");
        };
        let process = running
            .process
            .as_ref()
            .expect("a broker of somebody else's is left in peace");
        let mut process = process.lock().unwrap();
        writeln!(process.child.stdin.as_mut().expect("it is piped"), "{what}").unwrap();
        assert_eq!(process.answer(), "done", "after `{what}`");
    }
}

impl Process {
    fn answer(&mut self) -> String {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_or_else(|error| error.to_string(), |_| line.trim().to_owned())
    }
}

fn start(settings: &[&str]) -> Result<Running, String> {
    if settings.is_empty()
        && let Ok(address) = std::env::var("KPROC_TEST_BROKERS")
    {
        return Ok(Running {
            address,
            controller: 0,
            directory: None,
            process: None,
        });
    }
    let (port, controller) = free_ports().map_err(|error| format!("no free ports: {error}"))?;
    start_at(port, controller, settings)
}

fn start_at(port: u16, controller: u16, settings: &[&str]) -> Result<Running, String> {
    let tools = tools()?;
    let directory = std::env::temp_dir().join(format!("kproc-broker-{}-{port}", std::process::id()));
    let mut child = Command::new(tools.join("broker.sh"))
        .arg(&directory)
        .args([port.to_string(), controller.to_string()])
        .args(settings)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run broker.sh: {error}"))?;
    let mut process = Process {
        answers: BufReader::new(child.stdout.take().expect("it is piped")),
        child,
    };
    if process.answer() != "ready" {
        return Err(format!("it did not start; see {}", directory.display()));
    }
    Ok(Running {
        address: format!("127.0.0.1:{port}"),
        controller,
        directory: Some(directory),
        process: Some(Mutex::new(process)),
    })
}

/// The folder with the broker's script and, built if need be, its jars.
pub(crate) fn tools() -> Result<PathBuf, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tools = manifest.ancestors().map(|above| above.join("tools/kafka"));
    let Some(tools) = tools.find(|tools| tools.join("broker.sh").is_file()) else {
        return Err("the repository's `tools/kafka` is not here".into());
    };
    let runs = |program: &str, argument: &str| {
        let status = Command::new(program)
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !runs("java", "-version") {
        return Err("there is no Java".into());
    }
    if !tools.join("target/libs").is_dir() {
        if !runs("mvn", "--version") {
            return Err("there is no Maven to fetch it with".into());
        }
        let status = Command::new("mvn")
            .args(["-q", "-B", "package"])
            .current_dir(&tools)
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err("Maven could not fetch it".into());
        }
    }
    Ok(tools)
}

/// Runs one of Kafka's own tools, by the name of its class, which must end well. Returns what it prints.
pub(crate) fn tool(class: &str, arguments: &[&str]) -> String {
    let libraries = tools().unwrap().join("target/libs/*");
    let output = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-cp"])
        .arg(libraries)
        .arg(class)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{class} {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Two ports that nothing listens on. Not of those that the system gives to clients: one of these, trying to reach a broker
/// that was killed, might get the broker's own.
pub(crate) fn free_ports() -> std::io::Result<(u16, u16)> {
    static TRIES: AtomicU32 = AtomicU32::new(0);
    let mut free = Vec::new();
    loop {
        let number = std::process::id() * 16 + TRIES.fetch_add(1, Ordering::Relaxed);
        let port = 15_000 + (number % 15_000) as u16;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => free.push((port, listener)),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
        if let [(one, _), (other, _)] = &free[..] {
            return Ok((*one, *other));
        }
    }
}
