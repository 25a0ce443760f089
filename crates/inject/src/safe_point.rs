//! Decides whether a thread can be borrowed at its current position.
//!
//! `pthread_create` takes locks of the C library and allocates memory. A thread inside the C library, the dynamic linker or an allocator
//! may hold these locks; so may a thread in a signal handler that interrupted such code. It is left alone, and tried again later.

use std::fs;

use crate::libc_symbols::TargetLibc;
use crate::process::field;
use crate::tracee::{ProcessMemory, ThreadRegisters, Tracee};

/// Blocking system calls that the kernel restarts after an interruption.
const RESTARTED_SYSCALLS: [u64; 22] = [0, 1, 7, 17, 18, 19, 20, 23, 34, 35, 61, 69, 70, 72, 73, 130, 202, 219, 230, 247, 270, 271];
/// Blocking system calls that may fail with EINTR; we restart them.
const INTERRUPTIBLE_SYSCALLS: [u64; 17] = [42, 43, 44, 45, 46, 47, 65, 128, 208, 220, 232, 281, 288, 299, 333, 426, 441];
/// System calls that do not block; no relevant lock is held around them.
const NONBLOCKING_SYSCALLS: [u64; 12] = [8, 24, 39, 96, 98, 102, 186, 201, 228, 229, 309, 310];
/// Must not be made twice, unlike the other interruptible calls.
const CONNECT: u64 = 42;

/// How much of the stack is searched for a signal frame.
const STACK_SCAN_BYTES: usize = 128 << 10;

/// Preference for borrowing a thread, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BorrowPreference {
    /// Blocked, and will not notice.
    Waiting,
    /// Running.
    Running,
    /// Blocked in a call that must be restarted for it.
    Interruptible,
}

/// The threads of a process that may be borrowed, best first.
pub(crate) fn candidate_threads(process: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let numbers = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
    let mut candidates: Vec<(BorrowPreference, u32)> = numbers
        .filter_map(|thread: u32| {
            let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
            Some((borrow_preference(&text)?, thread))
        })
        .collect();
    candidates.sort_unstable();
    candidates.into_iter().map(|(_, thread)| thread).collect()
}

/// Parses `/proc/.../syscall`: a number and arguments, or "running".
fn borrow_preference(text: &str) -> Option<BorrowPreference> {
    let first = text.split_whitespace().next()?;
    if first == "running" {
        return Some(BorrowPreference::Running);
    }
    let number = first.parse().ok()?;
    if RESTARTED_SYSCALLS.contains(&number) {
        Some(BorrowPreference::Waiting)
    } else {
        (INTERRUPTIBLE_SYSCALLS.contains(&number) && number != CONNECT).then_some(BorrowPreference::Interruptible)
    }
}

/// Checks whether a stopped thread can be borrowed; if not, returns the reason.
pub(crate) fn check_safe_point(
    tracee: &Tracee,
    registers: &ThreadRegisters,
    library: &TargetLibc,
    memory: &ProcessMemory,
) -> Result<(), String> {
    match registers.system_call() {
        Some(call) if [&RESTARTED_SYSCALLS[..], &INTERRUPTIBLE_SYSCALLS, &NONBLOCKING_SYSCALLS].concat().contains(&call) => {}
        Some(call) => return Err(format!("a thread was in system call {call}")),
        None => {
            if let Some(file) = library.lock_file_at(registers.0.rip) {
                return Err(format!("a thread was in {file}"));
            }
        }
    }
    let own = registers.0.fs_base;
    if own == 0 || memory.word(own).ok() != Some(own) || memory.word(own + 16).ok() != Some(own) {
        return Err("a thread was not made by the C library".into());
    }
    if is_in_handler(registers.0.rsp, library, memory) {
        return Err("a thread was in a signal handler".into());
    }
    // In a restartable sequence: the word at offset 8 points to its descriptor.
    if tracee.rseq_address().is_some_and(|address| memory.word(address + 8).unwrap_or(0) != 0) {
        return Err("a thread was in a restartable sequence".into());
    }
    Ok(())
}

/// Whether the stack contains a signal frame, recognised by the return address of its handler.
fn is_in_handler(stack: u64, library: &TargetLibc, memory: &ProcessMemory) -> bool {
    let after = library.sigreturn;
    memory.read_up_to(stack, STACK_SCAN_BYTES).chunks_exact(8).any(|word| word == after.to_le_bytes())
}

/// The registers with which a thread resumes: a call that failed because of us is restarted.
pub(crate) fn resume_registers(process: u32, thread: u32, registers: ThreadRegisters) -> ThreadRegisters {
    let made_again = registers
        .system_call()
        .is_some_and(|call| call != CONNECT && (INTERRUPTIBLE_SYSCALLS.contains(&call) || RESTARTED_SYSCALLS.contains(&call)));
    if registers.was_interrupted() && made_again && !has_pending_signal(process, thread) { registers.restart_call() } else { registers }
}

/// Whether a signal is pending for a thread: then its call was interrupted by the program itself.
fn has_pending_signal(process: u32, thread: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).unwrap_or_default();
    let set = |name| u64::from_str_radix(field(&status, name), 16).unwrap_or(0);
    (set("SigPnd") | set("ShdPnd")) & !set("SigBlk") != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_and_will_not_notice_comes_first() {
        assert_eq!(borrow_preference("35 0x7f 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00\n"), Some(BorrowPreference::Waiting));
        assert_eq!(borrow_preference("running\n"), Some(BorrowPreference::Running));
        assert_eq!(borrow_preference("232 0x4 0x7f 0x20 0xffffffff 0x0 0x0 0x7ffd 0x7f00\n"), Some(BorrowPreference::Interruptible));
        assert_eq!(borrow_preference("9 0x0\n"), None, "memory is being given out");
        assert_eq!(borrow_preference("-1 0x7ffd 0x7f00\n"), None);
        assert!(BorrowPreference::Waiting < BorrowPreference::Running && BorrowPreference::Running < BorrowPreference::Interruptible);
    }
}
