//! Cancellation of threads by the program.
//!
//! Opening and writing files are cancellation points of pthreads. A thread must not be cancelled there: it would not have been without the
//! probe, and it would unwind through the probe's code. Signals are not held back: the system would give them to another thread.

use std::ffi::c_int;

const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// While it lives, this thread is not cancelled; a request stays pending.
pub(crate) struct CancellationGuard {
    previous: c_int,
}

impl CancellationGuard {
    /// Holds cancellation back.
    pub(crate) fn new() -> CancellationGuard {
        let mut previous = 0;
        // SAFETY: `previous` is valid for writes.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut previous) };
        CancellationGuard { previous }
    }
}

impl Drop for CancellationGuard {
    fn drop(&mut self) {
        // SAFETY: restores the state found before; the old one is not asked for.
        unsafe { pthread_setcancelstate(self.previous, std::ptr::null_mut()) };
    }
}
