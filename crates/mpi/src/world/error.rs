//! What can keep processes from working together, said so that the user knows what to do.

/// Why processes that were started together cannot talk to each other.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// No library was found that belongs to the launcher.
    #[error(
        "{launcher} started this process as one of several, but none of its MPI libraries was found; tried:{tried}\n\
         set SINTONIA_MPI to the file libmpi.so of the MPI whose launcher was used, or load its module"
    )]
    NotFound {
        /// The launcher, as far as it is known.
        launcher: &'static str,
        /// The files that were tried, each on a line with the reason why it was not taken.
        tried: String,
    },
    /// A library cannot be used.
    #[error("{library} cannot be used: {reason}; SINTONIA_MPI names the file of the MPI library to use instead")]
    Unusable {
        /// The file, as it was asked for.
        library: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The library knows nothing of the other processes.
    #[error(
        "{library} does not belong to the launcher: {started} processes were started, and it sees one; \
         set SINTONIA_MPI to the file libmpi.so of the MPI whose launcher was used"
    )]
    Stranger {
        /// The library.
        library: String,
        /// How many processes the launcher started.
        started: usize,
    },
    /// MPI can be started only once.
    #[error("this process has joined the others before, which MPI allows only once")]
    JoinedBefore,
    /// There must be one parcel for each process.
    #[error("{given} parcels for {size} processes: there must be one for each")]
    Parcels {
        /// How many parcels were given.
        given: usize,
        /// How many processes there are.
        size: usize,
    },
    /// A call of MPI failed.
    #[error("{function} failed: {message}")]
    Call {
        /// The function of MPI.
        function: &'static str,
        /// What MPI says of it.
        message: String,
    },
}
