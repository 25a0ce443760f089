//! Errors of a search for a placement.

use std::io;
use std::path::PathBuf;

use sintonia_formats::metis::GraphFileError;

/// Why no placement can be proposed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// A placement cannot be replayed.
    #[error(transparent)]
    Replay(#[from] sintonia_replay::Error),
    /// The hosts cannot be used.
    #[error(transparent)]
    Fabric(#[from] crate::fabric::Error),
    /// The launcher cannot be given the placement.
    #[error(transparent)]
    Launcher(#[from] crate::launcher::Error),
    /// The graph cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The graph is not one.
    #[error("{}, {problem}", path.display())]
    Graph {
        /// Its file.
        path: PathBuf,
        /// What is wrong where.
        problem: GraphFileError,
    },
    /// There is no traffic.
    #[error("{0}: no ranks communicate, so placement does not matter")]
    NoTraffic(String),
    /// The replayed time is asked for, and nothing can be replayed.
    #[error("--objective time replays the run: it needs a machine file (--machine) and a recording with all calls")]
    NoReplay,
    /// The hosts do not suit the ranks or the machine: what is wrong, and what to do.
    #[error("{0}")]
    Hosts(String),
    /// The launcher has put a rank elsewhere.
    #[error("{0}")]
    Misplaced(String),
}
