//! Errors of reading and sealing recordings.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording cannot be read or sealed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path does not exist.
    #[error("{}: no such recording; `sintonia record -o {} -- mpirun ...` makes one", path.display(), path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The path is not a recording.
    #[error("{}: not a recording ({what}); give the folder NAME.sin that `sintonia record` made", path.display())]
    NotARecording {
        /// The path.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// The recording has a newer format.
    #[error(
        "{}: the recording has format {found}, this version of Sintonia reads formats up to {known}: use the version that made it, or a newer one",
        path.display()
    )]
    NewerFormat {
        /// The file with that version.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest supported format.
        known: u32,
    },
    /// The probe used a different table of MPI functions.
    #[error(
        "{}: the probe knew {found} MPI functions, this version of Sintonia knows {known}: seal it with the version that recorded it",
        path.display()
    )]
    FunctionTableMismatch {
        /// The file with that count.
        path: PathBuf,
        /// Number of functions known to the probe.
        found: usize,
        /// Number of functions known to this version.
        known: usize,
    },
    /// A JSON file is malformed.
    #[error("{}:{}:{}: {source}", path.display(), source.line(), source.column())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// No process of an unsealed run called MPI.
    #[error("{}: no MPI call was seen", path.display())]
    NoMpiCalls {
        /// The recording.
        path: PathBuf,
    },
}

/// Adds the file to an I/O error.
pub(crate) trait WithPath<T> {
    /// Adds the path.
    fn with_path(self, path: &Path) -> Result<T, Error>;
}

impl<T> WithPath<T> for io::Result<T> {
    fn with_path(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.to_owned(), source })
    }
}
