//! What the program does with files through the C library: POSIX functions and stdio.
//!
//! References to these functions are replaced in the program and its libraries, but not in the C library itself and in those of MPI: Fortran,
//! C++, Python and HDF5 get to the same functions through their own libraries. A stub ([`stubs`]) calls [`observe`] before and after
//! the function. Calls made inside MPI, before recording begins and after it has ended are passed through.

mod descriptors;
mod functions;
mod observe;
mod signal_context;
mod stdio_stream;
mod stubs;

use std::sync::atomic::Ordering;

pub(crate) use self::functions::{WRAPPED, is_stub};

use crate::file_counters;
use crate::settings::settings;

/// Begins to observe; call when MPI is initialised.
pub(crate) fn start() {
    if settings().file_io && !settings().is_attached {
        file_counters::calibrate();
        signal_context::remember_mask();
        observe::IS_ACTIVE.store(true, Ordering::Release);
    }
}
