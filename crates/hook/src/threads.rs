//! The other threads of the process: instruction synchronisation, and their state.

use std::io;

/// `membarrier` commands that serialise the cores of all threads.
const SYNC: i32 = 1 << 5;
const REGISTER_SYNC: i32 = 1 << 6;

/// Registers the use of [`sync_instructions`].
pub(crate) fn prepare() -> io::Result<()> {
    membarrier(REGISTER_SYNC)
}

/// Returns when no thread executes instructions fetched before.
pub(crate) fn sync_instructions() -> io::Result<()> {
    membarrier(SYNC)
}

fn membarrier(command: i32) -> io::Result<()> {
    // SAFETY: a barrier accesses no memory of ours.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A thread's state from `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadStatus {
    /// Thread id.
    pub number: i32,
    /// Whether it may be executing program code: not while it sleeps in a system call. A thread in uninterruptible sleep counts as running,
    /// because it may be in a page fault.
    pub is_runnable: bool,
    /// Blocked signals, bit 0 is signal 1.
    blocked: u64,
}

impl ThreadStatus {
    /// Whether it blocks a signal.
    pub(crate) fn blocks(&self, signal: i32) -> bool {
        self.blocked >> (signal - 1) & 1 == 1
    }

    /// Whether it blocks even the signals reserved by the C library: only that library does so, briefly, when a thread starts or exits.
    pub(crate) fn is_starting_or_exiting(&self) -> bool {
        const OF_THE_LIBRARY: [i32; 2] = [32, 33];
        OF_THE_LIBRARY.iter().all(|signal| self.blocks(*signal))
    }
}

/// All threads of this process except the calling one.
pub(crate) fn other_threads() -> io::Result<Vec<ThreadStatus>> {
    // SAFETY: only queries the thread id.
    let own = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    let mut threads = Vec::new();
    for folder in std::fs::read_dir("/proc/self/task")? {
        let folder = folder?;
        let Some(number) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A thread may end meanwhile.
        let Ok(status) = std::fs::read_to_string(folder.path().join("status")) else { continue };
        if number != own {
            threads.push(parse_status(number, &status));
        }
    }
    Ok(threads)
}

fn parse_status(number: i32, status: &str) -> ThreadStatus {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
    let state = field("State:");
    ThreadStatus {
        number,
        is_runnable: !state.starts_with(['S', 'Z', 'X']),
        blocked: u64::from_str_radix(field("SigBlk:"), 16).unwrap_or(0),
    }
}

/// A thread of this process; `None` if it has ended.
pub(crate) fn find(number: i32) -> Option<ThreadStatus> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{number}/status")).ok()?;
    Some(parse_status(number, &status))
}

/// The tracer (debugger) of this process, which would receive its signals first.
pub(crate) fn tracer() -> io::Result<Option<i32>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let number = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).and_then(|number| number.trim().parse().ok());
    Ok(number.filter(|tracer| *tracer != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_whether_a_thread_runs_and_whether_it_blocks_traps() {
        let status = |state: &str, blocked: &str| parse_status(7, &format!("Name:\tx\nState:\t{state}\nSigPnd:\t0\nSigBlk:\t{blocked}\n"));
        let seen = |state: &str, blocked: &str| {
            let thread = status(state, blocked);
            (thread.number, thread.is_runnable, thread.blocks(libc::SIGTRAP), thread.blocks(64))
        };
        assert_eq!(seen("R (running)", "0000000000000000"), (7, true, false, false));
        assert_eq!(seen("S (sleeping)", "0000000000000010"), (7, false, true, false));
        assert_eq!(seen("t (tracing stop)", "fffffffe7ffbfeff"), (7, true, true, true));
        let begins_or_ends = |blocked| status("R (running)", blocked).is_starting_or_exiting();
        assert!(begins_or_ends("ffffffffffffffff") && !begins_or_ends("fffffffe7ffbfeff"));
    }

    #[test]
    fn the_thread_that_asks_is_not_among_the_others() {
        let waiting = std::thread::spawn(std::thread::park);
        // SAFETY: only queries the thread id.
        let own = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let others = other_threads().expect("the system tells");
        assert!(!others.is_empty() && others.iter().all(|thread| thread.number != own));
        waiting.thread().unpark();
        waiting.join().expect("ends");
    }
}
