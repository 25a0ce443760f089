//! What can go wrong with a recording, said so that its user knows what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording cannot be read or sealed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing at this path.
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
        /// What is there instead.
        what: String,
    },
    /// The recording was made by a newer version.
    #[error(
        "{}: the recording has format {found}, this version of Sintonia reads formats up to {known}: use the version that made it, or a newer one",
        path.display()
    )]
    Newer {
        /// The file that says so.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format this version knows.
        known: u32,
    },
    /// The processes numbered MPI functions differently than this version does.
    #[error(
        "{}: the probe knew {found} MPI functions, this version of Sintonia knows {known}: seal it with the version that recorded it",
        path.display()
    )]
    OtherFunctions {
        /// The file that says so.
        path: PathBuf,
        /// How many functions the probe knew.
        found: usize,
        /// How many this version knows.
        known: usize,
    },
    /// A file of text does not say what it should.
    #[error("{}:{}:{}: {source}", path.display(), source.line(), source.column())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// No process of a run that was not sealed called MPI.
    #[error("{}: no MPI call was seen", path.display())]
    NoMpiCalls {
        /// The recording.
        path: PathBuf,
    },
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
