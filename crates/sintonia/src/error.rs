//! Errors of the command.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use clap::CommandFactory;
use clap::error::ErrorKind;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// The command cannot be started.
    #[error(transparent)]
    Program(#[from] sintonia_recording::program_name::ProgramError),
    /// A file of another tool cannot be written or read.
    #[error(transparent)]
    Format(#[from] sintonia_formats::Error),
    /// A replay failed.
    #[error(transparent)]
    Replay(#[from] sintonia_replay::Error),
    /// No placement can be proposed.
    #[error(transparent)]
    Placement(#[from] sintonia_placement::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Anything else that the user can fix.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Whether the reader of the output has closed the pipe.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let source = match self {
            Error::Output(source) | Error::Write { source, .. } | Error::Format(sintonia_formats::Error::Io { source, .. }) => source,
            _ => return false,
        };
        source.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Exits with a usage error.
pub(crate) fn usage_error(message: impl Display) -> ! {
    crate::CommandLine::command().error(ErrorKind::ValueValidation, message).exit()
}
