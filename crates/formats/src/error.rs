//! Errors of reading and writing files of other tools.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be read or written.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// An I/O error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The recording has only a profile, no calls.
    #[error("the recording has only a profile (record --profile); there are no calls to export")]
    ProfileOnly,
    /// The recording has no samples.
    #[error(
        "the recording has no samples of stacks: it was made with `record --sample off`, the kernel does not allow them, or it is an import"
    )]
    NoSamples,
    /// A file violates its format.
    #[error("{}: {position}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        position: FilePosition,
        /// What was expected.
        what: String,
    },
    /// Another error of an OTF2 archive.
    #[error(transparent)]
    Otf2(sintonia_otf2::Error),
    /// Another error of a Paraver trace.
    #[error(transparent)]
    Paraver(sintonia_paraver::Error),
    /// The path is not a supported file.
    #[error("{}: {what}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why not.
        what: String,
    },
    /// The output path cannot be used.
    #[error("{}: {what}", path.display())]
    InvalidOutputPath {
        /// The path.
        path: PathBuf,
        /// Why not.
        what: String,
    },
}

impl From<sintonia_otf2::Error> for Error {
    fn from(error: sintonia_otf2::Error) -> Error {
        match error {
            sintonia_otf2::Error::Io { path, source } => Error::Io { path, source },
            sintonia_otf2::Error::Malformed { path, offset, reason } => {
                Error::Malformed { path, position: FilePosition::Byte(offset), what: reason }
            }
            sintonia_otf2::Error::RecordTooLong { path, .. } => {
                Error::InvalidOutputPath { path, what: "a communicator has more members than OTF2 can list".into() }
            }
            other => Error::Otf2(other),
        }
    }
}

impl From<sintonia_paraver::Error> for Error {
    fn from(error: sintonia_paraver::Error) -> Error {
        match error {
            sintonia_paraver::Error::Io { path, source } => Error::Io { path, source },
            sintonia_paraver::Error::Malformed { path, line, reason } => {
                Error::Malformed { path, position: FilePosition::Line(line), what: reason }
            }
            other => Error::Paraver(other),
        }
    }
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// Offset in bytes.
    Byte(u64),
    /// Line number, from 1.
    Line(u64),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilePosition::Byte(byte) => write!(f, "byte {byte}"),
            FilePosition::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// Adds a path to an I/O error.
pub(crate) trait PathContext<T> {
    /// Adds the path.
    fn with_path(self, path: &Path) -> Result<T, Error>;
}

impl<T> PathContext<T> for io::Result<T> {
    fn with_path(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.to_owned(), source })
    }
}
