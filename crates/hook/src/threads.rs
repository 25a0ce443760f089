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
    /// Whether it would not notice a trap: the system ends a process that traps then.
    pub blocks_traps: bool,
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
    let blocked = u64::from_str_radix(field("SigBlk:"), 16).unwrap_or(0);
    let state = field("State:");
    Task { number, runs: !state.starts_with(['S', 'Z', 'X']), blocks_traps: blocked >> (libc::SIGTRAP - 1) & 1 == 1 }
}

/// Whether a thread of this process has not ended.
pub fn exists(thread: i32) -> bool {
    // SAFETY: no signal is sent, only asked whether one could be.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_whether_a_thread_runs_and_whether_it_blocks_traps() {
        let status = |state: &str, blocked: &str| task(7, &format!("Name:\tx\nState:\t{state}\nSigPnd:\t0\nSigBlk:\t{blocked}\n"));
        assert_eq!(status("R (running)", "0000000000000000"), Task { number: 7, runs: true, blocks_traps: false });
        assert_eq!(status("S (sleeping)", "0000000000000010"), Task { number: 7, runs: false, blocks_traps: true });
        assert_eq!(status("t (tracing stop)", "fffffffe7ffbfeff"), Task { number: 7, runs: true, blocks_traps: true });
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
