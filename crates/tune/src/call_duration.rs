//! How long a hooked call took.

/// Duration of a call in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CallDuration {
    /// The whole call.
    pub seconds: f64,
    /// The part in MPI functions.
    pub mpi_seconds: f64,
}

impl CallDuration {
    /// Of a call whose entry was not seen.
    pub(crate) const UNKNOWN: CallDuration = CallDuration { seconds: f64::NAN, mpi_seconds: f64::NAN };
}
