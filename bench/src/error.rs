//! What can go wrong with a measurement as a whole. A tool that cannot be measured is not an error: the table says so.

use std::io;
use std::path::PathBuf;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{command}: {why}")]
    Failed { command: String, why: String },
    #[error("no sintonia at {path}: build it with `cargo build --release`, or name one with SINTONIA_BIN", path = path.display())]
    NoSintonia { path: PathBuf },
    #[error("no MPI compiler found: {looked_for}")]
    NoMpi { looked_for: String },
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
}

impl Error {
    /// For `map_err`: the error of doing something with this path.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }
}
