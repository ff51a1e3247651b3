//! What ends the program: a message and an exit code.

use std::fmt;

/// Something went wrong; `main` prints it and exits with its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    message: String,
}

impl Failure {
    /// The command line, the settings or a file are not as they must be. Nothing was processed.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self {
            code: 2,
            message: message.to_string(),
        }
    }

    /// The application failed.
    pub(crate) fn run(message: impl fmt::Display) -> Self {
        Self {
            code: 1,
            message: message.to_string(),
        }
    }

    /// Adds what else there is to say, in a line of its own. The exit code stays.
    pub(crate) fn and(mut self, more: impl fmt::Display) -> Self {
        self.message = format!("{self}\n{more}");
        self
    }

    /// The user stopped it before it was done: 128 and the signal's number, as shells have it.
    pub(crate) fn stopped(signal: u8, message: &str) -> Self {
        Self {
            code: 128 + signal,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What the parts of kproc that the command line uses fail with.
impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        Self::run(error)
    }
}
