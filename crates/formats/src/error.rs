//! What can go wrong with files of other tools, said so that their user knows where to look.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be read or written.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// The system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The recording has no calls, only their sums.
    #[error("the recording holds only sums (record --profile); there are no calls to export")]
    OnlySums,
    /// A file does not say what its format wants.
    #[error("{}: {place}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What was expected there.
        what: String,
    },
    /// Nothing at this path is of a format that can be read.
    #[error("{}: {what}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What is the matter with it.
        what: String,
    },
    /// Something stands where the file should go.
    #[error("{}: {what}", path.display())]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: String,
    },
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// So many bytes from the beginning.
    Byte(u64),
    /// A line, counted from 1.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Byte(byte) => write!(f, "byte {byte}"),
            Place::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// Says which file an error of the system was about.
pub(crate) trait At<T> {
    /// Adds the path.
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.to_owned(), source })
    }
}
