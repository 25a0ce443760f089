//! The other threads of the process: making them see new code, and moving those that stand where code changes.

use std::io;

/// A barrier after which no thread runs on with instructions that it had fetched before.
const SYNC: i32 = 1 << 5;
const REGISTER_SYNC: i32 = 1 << 6;

/// Announces that [`refetch`] will be used.
pub fn prepare() -> io::Result<()> {
    membarrier(REGISTER_SYNC)
}

/// Returns when every thread has thrown away what it had fetched before.
pub fn refetch() -> io::Result<()> {
    membarrier(SYNC)
}

fn membarrier(command: i32) -> io::Result<()> {
    // SAFETY: a barrier touches no memory of ours.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A thread, as the system tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub number: i32,
    /// Whether it may stand on an instruction of the program's: it does not if it sleeps in a call of the system. One that waits for the
    /// disk may do so for the sake of an instruction.
    pub runs: bool,
    /// The signals it blocks, as bits from that of signal 1 on.
    blocked: u64,
}

impl Task {
    /// Whether it would not notice a signal.
    pub fn blocks(&self, signal: i32) -> bool {
        self.blocked >> (signal - 1) & 1 == 1
    }

    /// Whether it blocks even the signals that the C library keeps for itself: only that library does, for a moment, when a thread begins
    /// or ends.
    pub fn begins_or_ends(&self) -> bool {
        const OF_THE_LIBRARY: [i32; 2] = [32, 33];
        OF_THE_LIBRARY.iter().all(|signal| self.blocks(*signal))
    }
}

/// The threads of this process but the one that asks.
pub fn others() -> io::Result<Vec<Task>> {
    // SAFETY: asks the system for a number.
    let own = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    let mut tasks = Vec::new();
    for folder in std::fs::read_dir("/proc/self/task")? {
        let folder = folder?;
        let Some(number) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A thread may end while it is looked at.
        let Ok(status) = std::fs::read_to_string(folder.path().join("status")) else { continue };
        if number != own {
            tasks.push(task(number, &status));
        }
    }
    Ok(tasks)
}

fn task(number: i32, status: &str) -> Task {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
    let state = field("State:");
    Task { number, runs: !state.starts_with(['S', 'Z', 'X']), blocked: u64::from_str_radix(field("SigBlk:"), 16).unwrap_or(0) }
}

/// A thread of this process, if it has not ended.
pub fn find(number: i32) -> Option<Task> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{number}/status")).ok()?;
    Some(task(number, &status))
}

/// The process that traces this one and gets its signals first: a debugger.
pub fn tracer() -> io::Result<Option<i32>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let number = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).and_then(|number| number.trim().parse().ok());
    Ok(number.filter(|tracer| *tracer != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_whether_a_thread_runs_and_whether_it_blocks_traps() {
        let status = |state: &str, blocked: &str| task(7, &format!("Name:\tx\nState:\t{state}\nSigPnd:\t0\nSigBlk:\t{blocked}\n"));
        let seen = |state: &str, blocked: &str| {
            let task = status(state, blocked);
            (task.number, task.runs, task.blocks(libc::SIGTRAP), task.blocks(64))
        };
        assert_eq!(seen("R (running)", "0000000000000000"), (7, true, false, false));
        assert_eq!(seen("S (sleeping)", "0000000000000010"), (7, false, true, false));
        assert_eq!(seen("t (tracing stop)", "fffffffe7ffbfeff"), (7, true, true, true));
        let begins_or_ends = |blocked| status("R (running)", blocked).begins_or_ends();
        assert!(begins_or_ends("ffffffffffffffff") && !begins_or_ends("fffffffe7ffbfeff"));
    }

    #[test]
    fn the_thread_that_asks_is_not_among_the_others() {
        let waiting = std::thread::spawn(std::thread::park);
        let own = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let others = others().expect("the system tells");
        assert!(!others.is_empty() && others.iter().all(|task| task.number != own));
        waiting.thread().unpark();
        waiting.join().expect("ends");
    }
}
