//! Whether this code may run inside a signal handler of the program.
//!
//! Reading and writing files is allowed there; allocating memory and taking a lock is not, since the handler may have interrupted just that.
//! While a handler runs, its signal is blocked.

use std::sync::atomic::{AtomicU64, Ordering};

/// Threads that block more signals than this are taken for helper threads that block all of them.
const MOST_OF_A_HANDLER: u32 = 40;

/// Signals blocked when recording began.
static INITIAL_MASK: AtomicU64 = AtomicU64::new(0);

/// Notes which signals are blocked outside handlers.
pub(super) fn remember_mask() {
    INITIAL_MASK.store(blocked_signals(), Ordering::Relaxed);
}

/// Whether memory may be allocated and locks be taken here.
#[cold]
pub(super) fn may_allocate() -> bool {
    let blocked = blocked_signals();
    blocked & !INITIAL_MASK.load(Ordering::Relaxed) == 0 || blocked.count_ones() > MOST_OF_A_HANDLER
}

fn blocked_signals() -> u64 {
    let mut mask = 0u64;
    // SAFETY: asks for the mask, which is 8 bytes long for the kernel.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, std::ptr::null::<u64>(), &raw mut mask, size_of::<u64>()) };
    mask
}
