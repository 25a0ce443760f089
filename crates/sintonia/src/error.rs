//! What can go wrong, in words for the person at the terminal.

use std::io;
use std::path::PathBuf;

/// Why a verb could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
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
