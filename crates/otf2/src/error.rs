//! Errors of reading and writing archives.

use std::io;
use std::path::{Path, PathBuf};

/// Why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An I/O error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file violates the format, or uses a part of it that is not supported.
    #[error("{}: byte {offset}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A record is longer than the largest chunk.
    #[error("{}: a record of {bytes} bytes does not fit into a chunk", path.display())]
    RecordTooLong {
        /// The file it was written to.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// The path of an archive to write is not `NAME.otf2`.
    #[error("{}: is not a valid archive name; expected NAME.otf2", path.display())]
    InvalidName {
        /// The path.
        path: PathBuf,
    },
}

/// Adds a path to an I/O error.
pub(crate) trait PathContext<T> {
    fn with_path(self, path: &Path) -> Result<T, Error>;
}

impl<T> PathContext<T> for io::Result<T> {
    fn with_path(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.to_owned(), source })
    }
}
