//! Files and standard output, to which records go.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Write},
};

use super::failure::Failure;

/// Where records are written to: a file, or standard output.
pub(crate) struct Output {
    name: String,
    is_stdout: bool,
    to: Box<dyn Write>,
    /// Nobody reads any more (`… | head`). That is no failure; what is written then goes nowhere.
    closed: bool,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self {
            name: "standard output".into(),
            is_stdout: true,
            to: Box::new(BufWriter::new(io::stdout())),
            closed: false,
        }
    }

    /// The file of this path; `-` is standard output.
    pub(crate) fn open(path: &str) -> Result<Self, Failure> {
        if path == "-" {
            return Ok(Self::stdout());
        }
        let file =
            File::create(path).map_err(|error| Failure::usage(format!("cannot write to {path}: {error}")))?;
        Ok(Self {
            name: path.to_owned(),
            is_stdout: false,
            to: Box::new(BufWriter::new(file)),
            closed: false,
        })
    }

    /// Whether it is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.is_stdout
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
