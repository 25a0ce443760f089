//! Runs code in a copy of the process (fork), because it may leave traces or crash: the program must not notice.

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::{Duration, Instant};

/// Timeout of a copy: it may wait for a thread that does not exist in it.
const COPY_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `work` in a copy of this process and returns its output; an error if the copy did not finish.
pub(super) fn run_in_copy(work: impl FnOnce() -> Vec<u8>) -> io::Result<Vec<u8>> {
    let mut ends = [0; 2];
    // SAFETY: space for two descriptors, which the files then own.
    let (mut from, mut to) = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    };
    // SAFETY: a copy of this thread only, with its own memory. Without an exit signal, the program's `wait` does not see it.
    let copy = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } as c_int;
    if copy == 0 {
        let _ = to.write_all(&work());
        // SAFETY: exits without running exit handlers.
        unsafe { libc::_exit(0) };
    }
    drop(to);
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    let answer = read_until_timeout(&mut from);
    // SAFETY: kills and reaps the copy, if it has not ended by itself.
    unsafe {
        libc::kill(copy, libc::SIGKILL);
        libc::waitpid(copy, std::ptr::null_mut(), libc::__WALL);
    }
    answer
}

/// Reads until the other end is closed.
fn read_until_timeout(from: &mut File) -> io::Result<Vec<u8>> {
    let (begin, mut answer) = (Instant::now(), Vec::new());
    loop {
        let left = COPY_TIMEOUT.saturating_sub(begin.elapsed());
        let mut wanted = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor is polled.
        if left.is_zero() || unsafe { libc::poll(&mut wanted, 1, left.as_millis() as c_int) } == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut some = [0; 512];
        match from.read(&mut some)? {
            0 if answer.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            0 => return Ok(answer),
            count => answer.extend_from_slice(&some[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_aside_is_told_and_changes_nothing_here() {
        let mut changed = false;
        let answer = run_in_copy(|| {
            changed = true;
            b"done".to_vec()
        });
        assert_eq!((answer.expect("an answer"), changed), (b"done".to_vec(), false));
    }

    #[test]
    fn what_ends_the_process_ends_only_the_copy() {
        // SAFETY: exits the copy only.
        assert!(run_in_copy(|| unsafe { libc::_exit(3) }).is_err());
    }
}
