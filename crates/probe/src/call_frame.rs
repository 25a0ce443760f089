//! The stack frame in which a call in progress keeps its arguments, from entry to return.

use sintonia_recording::raw::NonLocalExit;

use crate::call_path::CallerRegisters;
use crate::clock::ticks;
use crate::stub::{STACK_WORDS, StubEntry};
use crate::thread::{self, CurrentCall, ThreadState};

/// Stack frame of a call in progress.
#[repr(C)]
pub(crate) struct CallFrame {
    /// The state of the calling thread if the call is recorded, else null; passed from `enter` to `leave`.
    pub thread: *mut ThreadState,
    /// The probe's status array in place of an ignored one, or 0.
    pub status_buffer: usize,
    /// When its entry was recorded for tuning, or 0.
    pub watch_enter: u64,
    /// Ticks at entry.
    pub enter: u64,
    /// Return value of the function.
    pub result: usize,
    /// The entry.
    entry: *const StubEntry,
    /// Six argument registers, the caller's frame pointer, the return address, and stack arguments: see [`crate::stub::BoundFunction::slots`].
    words: [usize; 8 + STACK_WORDS],
}

impl CallFrame {
    /// The stub entry that was called.
    #[inline(always)]
    pub(crate) fn entry(&self) -> &'static StubEntry {
        // SAFETY: the stub stored the address of one of the static entries.
        unsafe { &*self.entry }
    }

    /// Its address on the stack.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        &raw const *self as usize
    }

    /// The call site.
    #[inline(always)]
    pub(crate) fn return_address(&self) -> usize {
        self.words[7]
    }

    /// Where unwinding begins.
    #[inline(always)]
    pub(crate) fn caller(&self) -> CallerRegisters {
        CallerRegisters {
            return_address: self.words[7] as u64,
            stack_pointer: &raw const self.words[8] as u64,
            frame_pointer: self.words[6] as u64,
        }
    }

    /// An argument as the caller passed it.
    #[inline(always)]
    pub(crate) fn argument(&self, slot: u8) -> usize {
        debug_assert!(usize::from(slot) < self.words.len());
        // SAFETY: slots of a bound entry lie inside the frame: `bind` rejects functions with more stack arguments.
        unsafe { *self.words.get_unchecked(usize::from(slot)) }
    }

    /// Replaces an argument for the real function.
    pub(crate) fn replace_argument(&mut self, slot: u8, value: usize) {
        self.words[usize::from(slot)] = value;
    }
}

/// Whether code whose stack frame is at `address` runs inside a call of the same thread. If the program left the call unseen, its frame is
/// below that address, or has usually been overwritten.
#[inline(always)]
pub(crate) fn encloses(call: CurrentCall, address: usize) -> bool {
    // SAFETY: an address of this thread's stack above `address`.
    address < call.frame && unsafe { (*(call.frame as *const CallFrame)).enter } == call.enter
}

/// Whether code whose stack frame is at `address` runs inside the current call. If not, a current call was left unseen, and is recorded:
/// see [`crate::non_local_exit`].
#[inline(always)]
pub(crate) fn is_inside_call(thread: &mut ThreadState, address: usize) -> bool {
    let Some(outer) = thread.current_call else { return false };
    if encloses(outer, address) {
        return true;
    }
    thread.record_exit(NonLocalExit::Unobserved, ticks());
    false
}

/// Records the current call of this thread when the process ends, unless the end is inside it.
pub(crate) fn on_process_exit() {
    if let Some(thread) = thread::existing() {
        let here = 0u8;
        is_inside_call(thread, &raw const here as usize);
    }
}
