//! Something that is tried in a copy of the process, because it may leave traces, or end it: the program must not notice.

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::{Duration, Instant};

/// A copy that has not answered by then is ended: it may wait for a thread that it has not.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the work gave in a copy of this process; an error if the copy did not come to its end.
pub fn aside(work: impl FnOnce() -> Vec<u8>) -> io::Result<Vec<u8>> {
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors, which then belong to the files.
    let (mut from, mut to) = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    };
    // SAFETY: a copy of this thread alone, with its own memory. Its end sends no signal, and the program's waiting does not see it.
    let copy = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } as c_int;
    if copy == 0 {
        let _ = to.write_all(&work());
        // SAFETY: ends the copy, without what a program does at its end.
        unsafe { libc::_exit(0) };
    }
    drop(to);
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    let answer = read_in_time(&mut from);
    // SAFETY: the copy is ended and seen off, if it has not ended by itself.
    unsafe {
        libc::kill(copy, libc::SIGKILL);
        libc::waitpid(copy, std::ptr::null_mut(), libc::__WALL);
    }
    answer
}

/// All that comes until the other end is closed.
fn read_in_time(from: &mut File) -> io::Result<Vec<u8>> {
    let (begin, mut answer) = (Instant::now(), Vec::new());
    loop {
        let left = PATIENCE.saturating_sub(begin.elapsed());
        let mut wanted = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor is asked about.
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
        let answer = aside(|| {
            changed = true;
            b"done".to_vec()
        });
        assert_eq!((answer.expect("an answer"), changed), (b"done".to_vec(), false));
    }

    #[test]
    fn what_ends_the_process_ends_only_the_copy() {
        assert!(aside(|| unsafe { libc::_exit(3) }).is_err());
    }
}
