//! Whether a thread can be borrowed where it stands.
//!
//! `pthread_create` takes locks of the C library and asks for memory. A thread that is in the middle of the C library, of the dynamic linker or
//! of what gives out memory may hold these locks itself; so may one that was interrupted there by a signal and is in the handler. It is
//! left alone, and asked again a moment later.

use std::fs;

use crate::library::Library;
use crate::process::field;
use crate::tracee::{Contents, Registers, Tracee};

/// Calls of the system that wait, and that the system makes again by itself after an interruption.
const MADE_AGAIN: [u64; 22] = [0, 1, 7, 17, 18, 19, 20, 23, 34, 35, 61, 69, 70, 72, 73, 130, 202, 219, 230, 247, 270, 271];
/// Calls that wait, and may say that they were interrupted: they are made again by us.
const GIVE_UP: [u64; 17] = [42, 43, 44, 45, 46, 47, 65, 128, 208, 220, 232, 281, 288, 299, 333, 426, 441];
/// Calls that do not wait; no lock that matters is held around them.
const QUICK: [u64; 12] = [8, 24, 39, 96, 98, 102, 186, 201, 228, 229, 309, 310];
/// Of those that give up, one that must not be made twice.
const CONNECT: u64 = 42;

/// How much of the stack is looked at for the frame of a signal.
const DEPTH: usize = 128 << 10;

/// How good a thread is to be borrowed; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Aptness {
    /// It waits, and will not notice.
    Waits,
    /// It runs.
    Runs,
    /// It waits in a call that must be made again for it.
    GivesUp,
}

/// The threads of a process that may be borrowed, the best first.
pub fn threads(process: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let numbers = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
    let mut apt: Vec<(Aptness, u32)> = numbers
        .filter_map(|thread: u32| {
            let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
            Some((aptness(&text)?, thread))
        })
        .collect();
    apt.sort_unstable();
    apt.into_iter().map(|(_, thread)| thread).collect()
}

/// What `/proc/…/syscall` says: a number and arguments, or that the thread runs.
fn aptness(text: &str) -> Option<Aptness> {
    let first = text.split_whitespace().next()?;
    if first == "running" {
        return Some(Aptness::Runs);
    }
    let number = first.parse().ok()?;
    if MADE_AGAIN.contains(&number) {
        Some(Aptness::Waits)
    } else {
        (GIVE_UP.contains(&number) && number != CONNECT).then_some(Aptness::GivesUp)
    }
}

/// Whether a stopped thread can be borrowed; if not, why.
pub fn is_good(tracee: &Tracee, registers: &Registers, library: &Library, contents: &Contents) -> Result<(), String> {
    match registers.system_call() {
        Some(call) if [&MADE_AGAIN[..], &GIVE_UP, &QUICK].concat().contains(&call) => {}
        Some(call) => return Err(format!("a thread was in call {call} of the system")),
        None => {
            if let Some(file) = library.guard(registers.0.rip) {
                return Err(format!("a thread was in {file}"));
            }
        }
    }
    let own = registers.0.fs_base;
    if own == 0 || contents.word(own).ok() != Some(own) || contents.word(own + 16).ok() != Some(own) {
        return Err("a thread was not made by the C library".into());
    }
    if is_in_handler(registers.0.rsp, library, contents) {
        return Err("a thread was in the handler of a signal".into());
    }
    // A sequence that must not be interrupted: the word behind the first eight bytes points to it.
    if tracee.sequences().is_some_and(|address| contents.word(address + 8).unwrap_or(0) != 0) {
        return Err("a thread was in a sequence that must not be interrupted".into());
    }
    Ok(())
}

/// Whether the stack has the frame of a signal: the address that its handler returns to.
fn is_in_handler(stack: u64, library: &Library, contents: &Contents) -> bool {
    let after = library.after_signal;
    contents.some(stack, DEPTH).chunks_exact(8).any(|word| word == after.to_le_bytes())
}

/// The registers with which a thread goes on: a call that gave up because of us is made again.
pub fn undisturbed(process: u32, thread: u32, registers: Registers) -> Registers {
    let made_again = registers.system_call().is_some_and(|call| call != CONNECT && (GIVE_UP.contains(&call) || MADE_AGAIN.contains(&call)));
    if registers.gave_up() && made_again && !is_signalled(process, thread) { registers.calling_again() } else { registers }
}

/// Whether a signal is about to be delivered to a thread: then its call gave up for a reason of the program's.
fn is_signalled(process: u32, thread: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).unwrap_or_default();
    let set = |name| u64::from_str_radix(field(&status, name), 16).unwrap_or(0);
    (set("SigPnd") | set("ShdPnd")) & !set("SigBlk") != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_and_will_not_notice_comes_first() {
        assert_eq!(aptness("35 0x7f 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00\n"), Some(Aptness::Waits));
        assert_eq!(aptness("running\n"), Some(Aptness::Runs));
        assert_eq!(aptness("232 0x4 0x7f 0x20 0xffffffff 0x0 0x0 0x7ffd 0x7f00\n"), Some(Aptness::GivesUp));
        assert_eq!(aptness("9 0x0\n"), None, "memory is being given out");
        assert_eq!(aptness("-1 0x7ffd 0x7f00\n"), None);
        assert!(Aptness::Waits < Aptness::Runs && Aptness::Runs < Aptness::GivesUp);
    }
}
