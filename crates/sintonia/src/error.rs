//! What can go wrong, in words for the person at the terminal.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use clap::CommandFactory;
use clap::error::ErrorKind;

/// Why a verb could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// A file of another tool cannot be written or read.
    #[error(transparent)]
    Format(#[from] sintonia_formats::Error),
    /// A replay cannot be made.
    #[error(transparent)]
    Replay(#[from] sintonia_replay::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Something else that the user can do something about.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Whether it is only that whoever read what was written has stopped reading.
    pub fn is_end_of_reading(&self) -> bool {
        let source = match self {
            Error::Output(source) | Error::Write { source, .. } | Error::Format(sintonia_formats::Error::Io { source, .. }) => source,
            _ => return false,
        };
        source.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Ends the command: it was used in a wrong way.
pub fn wrong_usage(message: impl Display) -> ! {
    crate::Command::command().error(ErrorKind::ValueValidation, message).exit()
}
