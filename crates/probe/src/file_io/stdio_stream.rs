//! The beginning of `FILE`: its descriptor, and how much its buffer holds.
//!
//! This part of the structure is fixed: programs contain `getc_unlocked` and `putc_unlocked` as code that uses it.

use std::ffi::c_int;

/// `struct _IO_FILE` of the C library, from `bits/types/struct_FILE.h`.
#[repr(C)]
pub(super) struct StdioStream {
    flags: c_int,
    read_ptr: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write_ptr: usize,
    write_end: usize,
    buffer_base: usize,
    buffer_end: usize,
    saved: [usize; 3],
    markers: usize,
    chain: usize,
    descriptor: c_int,
}

impl StdioStream {
    /// The stream with this address; `None` for null.
    pub(super) fn from_address<'a>(address: usize) -> Option<&'a StdioStream> {
        // SAFETY: the program passes a stream to a function of stdio.
        unsafe { (address as *const StdioStream).as_ref() }
    }

    /// Its file descriptor; negative if there is none.
    pub(super) fn descriptor(&self) -> c_int {
        self.descriptor
    }

    /// Bytes that can be read without asking the kernel.
    pub(super) fn readable(&self) -> usize {
        self.read_end.saturating_sub(self.read_ptr)
    }

    /// Bytes that can be written without asking the kernel; 0 for a stream that is buffered by line.
    pub(super) fn writable(&self) -> usize {
        self.write_end.saturating_sub(self.write_ptr)
    }
}

/// The position of a stream in its file.
pub(super) fn position(stream: usize) -> Option<u64> {
    // SAFETY: a stream of the program that is open.
    u64::try_from(unsafe { libc::ftello64(stream as *mut libc::FILE) }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_a_stream_is_where_it_is_expected() {
        // SAFETY: a stream of its own, closed at the end.
        unsafe {
            let file = libc::tmpfile();
            let stream = StdioStream::from_address(file as usize).unwrap();
            assert_eq!(stream.descriptor(), libc::fileno(file));
            assert_eq!((stream.readable(), stream.writable()), (0, 0));
            libc::fputc(65, file);
            let room = stream.writable();
            libc::fwrite(b"bcd".as_ptr().cast(), 1, 3, file);
            assert_eq!(stream.writable(), room - 3);
            libc::rewind(file);
            libc::fgetc(file);
            assert_eq!((stream.readable(), position(file as usize)), (3, Some(1)));
            libc::fclose(file);
        }
        assert!(StdioStream::from_address(0).is_none());
    }
}
