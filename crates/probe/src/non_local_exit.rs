//! Calls that the program leaves without returning from them.
//!
//! An error handler, a reduction operator or another callback can throw an exception, jump with `longjmp` or end its thread. The call must
//! then be recorded all the same. It is seen in one of these ways:
//!
//! - Exceptions, `pthread_exit` and `pthread_cancel` unwind the stack. The frame of [`crate::trampoline`] has a personality routine,
//!   [`on_unwind`], which notes the time and lets unwinding continue, as if there were none. It never looks at the unwinder's context:
//!   the program may bring an unwinder of its own.
//! - References to `longjmp` are redirected to [`on_longjmp`], which looks where the jump goes.
//! - What neither of them saw is found at the next call of the thread or at its end, whose time is then the latest possible one.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sintonia_recording::raw::NonLocalExit;

use crate::call_frame::{CallFrame, encloses};
use crate::clock::ticks;
use crate::library::library;
use crate::observe::{self, CallObserver};
use crate::thread::{self, ThreadState};

/// Action bits and result of a personality routine, from the Itanium C++ ABI.
const CLEANUP_PHASE: c_int = 2;
const FORCE_UNWIND: c_int = 8;
const CONTINUE_UNWIND: c_int = 8;

/// Word of glibc's `jmp_buf` that holds the stack pointer.
const JMP_BUF_STACK_POINTER: usize = 6;
/// Larger distances between stack pointers are taken for a `jmp_buf` of another form.
const MAX_STACK_BYTES: usize = 1 << 36;

/// Personality routine of the trampoline's frame: an exception or the end of the thread passes a call.
pub(crate) unsafe extern "C" fn on_unwind(_version: c_int, actions: c_int, _class: u64, _exception: usize, _context: usize) -> c_int {
    if actions & CLEANUP_PHASE != 0 {
        let now = ticks();
        let exit = if actions & FORCE_UNWIND != 0 { NonLocalExit::ThreadEnd } else { NonLocalExit::Exception };
        let _ = catch_unwind(AssertUnwindSafe(|| unwind_call(exit, now)));
    }
    CONTINUE_UNWIND
}

fn unwind_call(exit: NonLocalExit, now: u64) {
    let Some(thread) = thread::existing() else { return };
    match thread.nested_calls.checked_sub(1) {
        // The exception may yet be caught inside the current call.
        Some(fewer) => thread.nested_calls = fewer,
        None => record_observed_exit(thread, exit, now),
    }
}

/// Records the current call, if any, while it is being left: its frame is still on the stack.
fn record_observed_exit(thread: &mut ThreadState, exit: NonLocalExit, now: u64) {
    let here = 0u8;
    let (Some(current), Some(library)) = (thread.current_call, library()) else { return };
    if !encloses(current, &raw const here as usize) {
        return thread.record_exit(exit, now);
    }
    thread.current_call = None;
    thread.recorder.mark_exit(exit);
    // SAFETY: the frame of a call that has not returned, further up on this stack.
    let frame = unsafe { &mut *(current.frame as *mut CallFrame) };
    observe::leave_otherwise(&mut CallObserver { function: frame.entry().function(), thread, library, frame });
    thread.commit(now);
}

/// Runs before a `longjmp` of the program.
pub(crate) unsafe extern "C" fn on_longjmp(jump_buffer: *const u64) {
    let Some(thread) = thread::existing() else { return };
    let Some(current) = thread.current_call else { return };
    let now = ticks();
    // SAFETY: the program passes a `jmp_buf`, which is longer.
    let target = demangle(unsafe { *jump_buffer.add(JMP_BUF_STACK_POINTER) });
    if target > current.frame && target - current.frame < MAX_STACK_BYTES {
        let _ = catch_unwind(AssertUnwindSafe(|| record_observed_exit(thread, NonLocalExit::Jump, now)));
    }
}

/// A pointer of a `jmp_buf`: glibc rotates it and combines it with a word of the thread control block.
fn demangle(mangled: u64) -> usize {
    let guard: u64;
    // SAFETY: reads the thread control block, where glibc has the pointer guard at this offset.
    unsafe { core::arch::asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, preserves_flags, readonly)) };
    (mangled.rotate_right(17) ^ guard) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        #[link_name = "_setjmp"]
        fn set_jump(buffer: *mut u64) -> c_int;
    }

    #[test]
    fn the_stack_pointer_of_a_jump_buffer() {
        let mut buffer = [0u64; 32];
        // SAFETY: the buffer is as long as a `jmp_buf`, and nothing jumps back.
        unsafe { set_jump(buffer.as_mut_ptr()) };
        let here = &raw const buffer as usize;
        let target = demangle(buffer[JMP_BUF_STACK_POINTER]);
        assert!(target.abs_diff(here) < 1 << 16, "{target:x} is near {here:x}");
    }
}
