//! Functions that take the place of the functions of tasks, so that the time in which a task runs is known: usually a thread runs it while it
//! waits at a barrier.
//!
//! The data of a task is copied by libgomp, which knows its size and for some tasks its contents, so nothing can be added to it. Instead each
//! function of a task has a stub of its own, which passes its number on: a program has one such function for each `task` in its source.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use sintonia_recording::raw::openmp::ThreadActivity;

use super::team;

/// Most functions of tasks; tasks with further ones run as without the probe.
const STUBS: usize = 512;
const STUB_BYTES: usize = 16;

static FUNCTIONS: [AtomicUsize; STUBS] = [const { AtomicUsize::new(0) }; STUBS];

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".hidden sintonia_task_stubs",
    ".globl sintonia_task_stubs",
    "sintonia_task_stubs:",
    ".set sintonia_task, 0",
    ".rept {count}",
    // The function of a task has one argument, so the second one is free.
    "mov esi, offset sintonia_task",
    "jmp {run}",
    ".balign {bytes}",
    ".set sintonia_task, sintonia_task + 1",
    ".endr",
    count = const STUBS,
    bytes = const STUB_BYTES,
    run = sym run,
);

unsafe extern "C" {
    fn sintonia_task_stubs();
}

/// The stub of a function; the function itself if there is none for it.
pub(super) fn stub_for(function: usize) -> usize {
    let first = (function >> 4) % STUBS;
    for index in (0..STUBS).map(|step| (first + step) % STUBS) {
        let known = match FUNCTIONS[index].load(Ordering::Relaxed) {
            0 => FUNCTIONS[index].compare_exchange(0, function, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(function),
            known => known,
        };
        if known == function {
            return sintonia_task_stubs as *const () as usize + index * STUB_BYTES;
        }
    }
    function
}

unsafe extern "C-unwind" fn run(data: *mut c_void, number: usize) {
    // SAFETY: the stub was created for the address of this function.
    let function: unsafe extern "C-unwind" fn(*mut c_void) = unsafe { std::mem::transmute(FUNCTIONS[number].load(Ordering::Relaxed)) };
    let previous = team::switch(ThreadActivity::Useful);
    // SAFETY: the task of the program with its data.
    unsafe { function(data) };
    team::restore(previous);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_one_stub_and_different_functions_have_different_ones() {
        let stubs = [0x1000, 0x1000 + 16 * STUBS, 0x2000, 0x1000].map(stub_for);
        assert_eq!(stubs[0], stubs[3]);
        assert!(stubs[0] != stubs[1] && stubs[1] != stubs[2] && stubs[0] != stubs[2]);
    }
}
