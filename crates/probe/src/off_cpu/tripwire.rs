//! A word that the kernel changes when a thread loses its processor.
//!
//! The C library registers a `struct rseq` for each thread (glibc 2.35 and later). Its field `rseq_cs` names the critical section that the
//! thread is about to enter. When the kernel switches to the thread again and finds it outside of that section, it sets the field to null.
//! So a section that contains no instruction is named there: if the field has changed, the thread was switched away, or a signal was
//! delivered. A program with critical sections of its own overwrites the field, which looks the same and costs one needless question.
//!
//! The kernel kills the process if the four bytes before a section's abort address are not the registered signature. Therefore the section is
//! static, in a library that is never unloaded, and the kernel is first asked whether it is the registered signature.

use std::sync::atomic::{AtomicU64, Ordering};

/// The signature on x86-64.
const SIGNATURE: u32 = 0x5305_3053;
/// Sizes of `struct rseq` as registered by the C library.
const SIZES: [u32; 5] = [32, 20, 28, 33, 64];

/// `struct rseq_cs`.
#[repr(C, align(32))]
struct CriticalSection {
    version: u32,
    flags: u32,
    start: *const u32,
    length: u64,
    abort: *const u32,
}

// SAFETY: never written.
unsafe impl Sync for CriticalSection {}

/// The signature, and the abort address behind it; the kernel reads the former and never jumps to the latter.
static ABORT: [u32; 2] = [SIGNATURE, 0];

static EMPTY_SECTION: CriticalSection =
    CriticalSection { version: 0, flags: 0, start: &raw const ABORT[1], length: 0, abort: &raw const ABORT[1] };

/// Where the C library keeps the `struct rseq` of a thread.
pub(super) struct RseqTripwire {
    /// Distance from the thread pointer.
    offset: isize,
}

impl RseqTripwire {
    /// Asks the C library; `None` if it registers none.
    pub(super) fn find() -> Option<RseqTripwire> {
        // SAFETY: the names are strings; the C library defines both as constants of these types.
        unsafe {
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
            (!offset.is_null() && !size.is_null() && *size > 0).then(|| RseqTripwire { offset: *offset })
        }
    }

    /// The word of the calling thread, and the value to be written to it; `None` if the thread is not registered with our signature.
    pub(super) fn of_this_thread(&self) -> Option<(*const AtomicU64, u64)> {
        let area = thread_pointer().wrapping_add_signed(self.offset);
        // SAFETY: the C library reserves the area in every thread; the second word is the processor, or negative if it is not registered.
        let registered = unsafe { *((area + 4) as *const i32) } >= 0 && SIZES.iter().any(|size| is_registered(area, *size));
        registered.then(|| ((area + 8) as *const AtomicU64, &raw const EMPTY_SECTION as u64))
    }

    /// Whether blocking in a system call changes the word. A kernel may leave it alone, because no critical section contains a system call.
    pub(super) fn detects_blocking(&self) -> bool {
        let Some((word, value)) = self.of_this_thread() else { return false };
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 1 };
        // SAFETY: a word of this thread; no critical section of the program is running, since it called us.
        unsafe {
            (*word).store(value, Ordering::Relaxed);
            libc::nanosleep(&moment, std::ptr::null_mut());
            (*word).load(Ordering::Relaxed) != value
        }
    }
}

/// Whether the area is registered with this size and our signature: then registering it again is refused as such.
fn is_registered(area: usize, size: u32) -> bool {
    const REGISTER: libc::c_int = 0;
    // SAFETY: the area of this thread, which is registered already, so that nothing changes.
    let refused = unsafe { libc::syscall(libc::SYS_rseq, area, size, REGISTER, SIGNATURE) } == -1;
    refused && std::io::Error::last_os_error().raw_os_error() == Some(libc::EBUSY)
}

fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: on x86-64 the first word of the thread control block is its own address.
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_changes_when_the_thread_sleeps_and_not_without_reason() {
        let tripwire = RseqTripwire::find().expect("the C library registers rseq");
        let (word, value) = tripwire.of_this_thread().expect("this thread is registered");
        // SAFETY: a word of this thread.
        let word = unsafe { &*word };
        let undisturbed = (0..1000).filter(|_| {
            word.store(value, Ordering::Relaxed);
            word.load(Ordering::Relaxed) == value
        });
        assert!(undisturbed.count() > 900);
        assert!((0..20).all(|_| tripwire.detects_blocking()));
    }

    #[test]
    fn another_signature_or_size_is_not_taken_for_the_registered_one() {
        let tripwire = RseqTripwire::find().expect("the C library registers rseq");
        let area = thread_pointer().wrapping_add_signed(tripwire.offset);
        assert!(!is_registered(area, 31) && !is_registered(area + 32, 32));
        assert!(SIZES.iter().any(|size| is_registered(area, *size)));
    }
}
