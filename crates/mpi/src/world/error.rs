//! Errors of running under an MPI launcher.

/// Why processes started together cannot communicate.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// No library of the launcher's MPI was found.
    #[error(
        "{launcher} started this process as one of several, but none of its MPI libraries was found; tried:{tried}\n\
         set SINTONIA_MPI to the file libmpi.so of the MPI whose launcher was used, or load its module"
    )]
    NotFound {
        /// The launcher, as far as known.
        launcher: &'static str,
        /// The files tried, one per line with the reason for rejection.
        tried: String,
    },
    /// A library cannot be used.
    #[error("{library} cannot be used: {reason}; SINTONIA_MPI names the file of the MPI library to use instead")]
    Unusable {
        /// The library as requested.
        library: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The library does not see the other processes.
    #[error(
        "{library} does not belong to the launcher: {started} processes were started, and it sees one; \
         set SINTONIA_MPI to the file libmpi.so of the MPI whose launcher was used"
    )]
    ForeignLibrary {
        /// The library.
        library: String,
        /// Number of processes that the launcher started.
        started: usize,
    },
    /// MPI can be initialised only once.
    #[error("MPI was already initialised in this process, which is allowed only once")]
    AlreadyInitialized,
    /// The number of buffers does not match the number of processes.
    #[error("{given} buffers for {size} processes: there must be one for each")]
    BufferCount {
        /// Number of buffers.
        given: usize,
        /// Number of processes.
        size: usize,
    },
    /// An MPI call failed.
    #[error("{function} failed: {message}")]
    Call {
        /// The MPI function.
        function: &'static str,
        /// Error text of MPI.
        message: String,
    },
}
