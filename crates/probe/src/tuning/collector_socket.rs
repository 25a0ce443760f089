//! Connection to the collector of this host: a socket in a directory that only the user can access.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use super::collector;

/// One direction of the connection.
#[derive(Debug)]
pub(super) struct CollectorStream(UnixStream);

impl Read for CollectorStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for CollectorStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // MSG_NOSIGNAL: a closed connection must not raise SIGPIPE in the program.
        // SAFETY: the bytes are readable for their length.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);

/// Connects to the collector.
pub(super) fn connect(folder: &OsStr) -> io::Result<(CollectorStream, CollectorStream)> {
    let stream = collector::connect(folder)?;
    DESCRIPTOR.store(stream.as_raw_fd(), Ordering::Relaxed);
    Ok((CollectorStream(stream.try_clone()?), CollectorStream(stream)))
}

/// Sends a file descriptor to the collector.
pub(super) fn send_file_descriptor(file: &File) -> io::Result<()> {
    let mark = [1u8];
    // SAFETY: everything the message points to outlives the call; the control buffer is large enough.
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

/// Waits until data arrives, or until the timeout.
pub(super) fn wait_readable(time: Option<Duration>) -> bool {
    let mut wanted = libc::pollfd { fd: DESCRIPTOR.load(Ordering::Relaxed), events: libc::POLLIN, revents: 0 };
    let milliseconds = time.map_or(-1, |time| time.as_millis() as i32);
    // SAFETY: one descriptor is polled.
    unsafe { libc::poll(&mut wanted, 1, milliseconds) > 0 }
}
