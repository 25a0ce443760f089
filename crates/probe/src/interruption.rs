//! What can interrupt the probe and not come back: cancellation of the thread, and signal handlers that jump.
//!
//! Opening and writing files are cancellation points of pthreads. A thread must not be cancelled there: it would not have been without the
//! probe, and it would unwind through the probe's code. A signal handler that leaves with `longjmp` would leave locks held and files half
//! written. Both are held back where the probe does more than write to the memory of its thread.

use std::ffi::c_int;
use std::mem::MaybeUninit;

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

/// While it lives, this thread is neither cancelled nor interrupted by signals; both stay pending. For short work only.
pub(crate) struct InterruptionGuard {
    signals: libc::sigset_t,
    _cancellation: CancellationGuard,
}

impl InterruptionGuard {
    /// Holds cancellation and signals back, except those of errors in the thread itself.
    pub(crate) fn new() -> InterruptionGuard {
        let cancellation = CancellationGuard::new();
        let mut blocked = MaybeUninit::uninit();
        let mut previous = MaybeUninit::uninit();
        // SAFETY: both sets are valid for writes; `sigfillset` and `pthread_sigmask` fill them and cannot fail with these arguments.
        let signals = unsafe {
            libc::sigfillset(blocked.as_mut_ptr());
            for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
                libc::sigdelset(blocked.as_mut_ptr(), fault);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), previous.as_mut_ptr());
            previous.assume_init()
        };
        InterruptionGuard { signals, _cancellation: cancellation }
    }
}

impl Drop for InterruptionGuard {
    fn drop(&mut self) {
        // SAFETY: restores the mask found before; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.signals, std::ptr::null_mut()) };
    }
}
