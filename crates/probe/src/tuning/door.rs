//! The way to the collector of this host: a socket in a folder that only the user can enter.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use super::host;

/// One direction of the way.
#[derive(Debug)]
pub struct Way(UnixStream);

impl Read for Way {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Way {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A way that is closed must not end the program with a signal.
        // SAFETY: the bytes are there, as many as are said.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);

/// Goes to the collector.
pub fn open(folder: &OsStr) -> io::Result<(Way, Way)> {
    let stream = host::reach(folder)?;
    DESCRIPTOR.store(stream.as_raw_fd(), Ordering::Relaxed);
    Ok((Way(stream.try_clone()?), Way(stream)))
}

/// Gives the collector a file.
pub fn hand_over(file: &File) -> io::Result<()> {
    let mark = [1u8];
    // SAFETY: all that the message points to lives until it is sent; the room for the descriptor is as large as the system says.
    let sent = unsafe {
        let mut part = libc::iovec { iov_base: mark.as_ptr().cast_mut().cast(), iov_len: 1 };
        let mut room = [0u64; 8];
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(file.as_raw_fd());
        libc::sendmsg(DESCRIPTOR.load(Ordering::Relaxed), &message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until something comes, but not longer than the thread has time.
pub fn has_something(time: Option<Duration>) -> bool {
    let mut wanted = libc::pollfd { fd: DESCRIPTOR.load(Ordering::Relaxed), events: libc::POLLIN, revents: 0 };
    let milliseconds = time.map_or(-1, |time| time.as_millis() as i32);
    // SAFETY: one descriptor is asked about.
    unsafe { libc::poll(&mut wanted, 1, milliseconds) > 0 }
}
