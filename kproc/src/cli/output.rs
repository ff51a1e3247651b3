//! Files and standard output, to which records go.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Write},
    path::PathBuf,
};

use super::failure::Failure;

/// Where records will be written to. It can be written to, and is yet as it was: work that fails costs nobody the
/// dump of an earlier run.
pub(crate) enum Destination {
    Stdout,
    File { path: String, file: File, made: Made },
}

impl Destination {
    /// The file of this path; `-` is standard output.
    pub(crate) fn open(path: &str) -> Result<Self, Failure> {
        if path == "-" {
            return Ok(Self::Stdout);
        }
        let mut made = Made(None);
        let new = File::options().write(true).create_new(true).open(path);
        let file = match new {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // A link to nowhere exists, too: hence `create`.
                File::options()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)
            }
            new => new.inspect(|_| made = Made(Some(path.into()))),
        };
        let file = file.map_err(|error| Failure::usage(format!("cannot write to {path}: {error}")))?;
        Ok(Self::File {
            path: path.to_owned(),
            file,
            made,
        })
    }

    /// Whether it is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Empties it: from here on it has what is written.
    pub(crate) fn begin(self) -> Result<Output, Failure> {
        let Self::File { path, file, mut made } = self else {
            return Ok(Output::stdout());
        };
        made.0 = None;
        // What is no file, such as a pipe, has nothing to be emptied.
        let emptied = file
            .metadata()
            .and_then(|about| if about.is_file() { file.set_len(0) } else { Ok(()) });
        emptied.map_err(|error| Failure::run(format!("cannot write to {path}: {error}")))?;
        Ok(Output {
            name: path,
            to: Box::new(BufWriter::new(file)),
            closed: false,
        })
    }
}

/// A file that was not there before, and goes again if nothing is written to it.
pub(crate) struct Made(Option<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // It is empty: that it stays would be no harm.
            let _ = fs::remove_file(path);
        }
    }
}

/// Where records are written to: a file, or standard output.
pub(crate) struct Output {
    name: String,
    to: Box<dyn Write>,
    /// Nobody reads any more (`… | head`). That is no failure; what is written then goes nowhere.
    closed: bool,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self {
            name: "standard output".into(),
            to: Box::new(BufWriter::new(io::stdout())),
            closed: false,
        }
    }

    /// Whether anybody still reads.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed
    }

    /// Writes bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.attempt(|to| to.write_all(bytes))
    }

    /// All is written.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.attempt(Write::flush)
    }

    fn attempt(&mut self, work: impl FnOnce(&mut Box<dyn Write>) -> io::Result<()>) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        match work(&mut self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            result => result.map_err(|error| Failure::run(format!("cannot write to {}: {error}", self.name))),
        }
    }
}

/// Prints a text for people: to standard output, unless records go there.
pub(crate) fn print(text: &str, records_go_to_stdout: bool) -> Result<(), Failure> {
    if records_go_to_stdout {
        let _ = io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    let mut output = Output::stdout();
    output.write(text.as_bytes())?;
    output.finish()
}
