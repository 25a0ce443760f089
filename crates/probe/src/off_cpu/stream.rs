//! The file in which the intervals of a thread are written.
//!
//! It is created with the first interval. As in [`crate::block_region`], one piece of it is mapped wherever a mapped page cannot fail, so
//! that a killed process loses nothing; elsewhere a piece is kept in anonymous memory and appended when it is full. No file descriptor is
//! kept. A full disk or a file size limit ends it.

use std::fs::File;
use std::io::{Error, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use sintonia_recording::raw::off_cpu::{MAGIC, RECORD_WORDS, RawInterval};

use crate::block_region::{allocate_bytes, is_mappable};
use crate::process::{self, fits_file_limit};

/// Size of a piece: 2048 intervals.
const PIECE_BYTES: usize = 64 << 10;
const PIECE_WORDS: usize = PIECE_BYTES / 8;

/// Where intervals are written.
enum StreamState {
    /// No interval yet.
    Empty,
    /// The current piece of the file is mapped.
    Mapped,
    /// The current piece is in anonymous memory.
    InMemory,
    /// Nothing is written any more.
    Ended,
}

/// The file of one thread.
pub(super) struct OffCpuStream {
    thread: u16,
    path: PathBuf,
    state: StreamState,
    /// The current piece.
    memory: *mut u64,
    /// Words in use in it.
    used: usize,
    /// Bytes of the file before it.
    written: usize,
}

impl OffCpuStream {
    /// The file of a thread; nothing is created yet.
    pub(super) fn new(thread: u16) -> OffCpuStream {
        let path = process::file_path(&format!("t{thread}.offcpu"));
        OffCpuStream { thread, path, state: StreamState::Empty, memory: std::ptr::null_mut(), used: 0, written: 0 }
    }

    /// Appends an interval.
    pub(super) fn append(&mut self, interval: RawInterval) {
        let ready = match self.state {
            StreamState::Empty => self.create(),
            StreamState::Ended => return,
            _ if self.used < PIECE_WORDS => Ok(()),
            StreamState::Mapped => self.map_piece(),
            StreamState::InMemory => self.write_piece(),
        };
        match ready {
            Ok(()) => self.push(interval.to_words()),
            Err(error) => self.end(&error),
        }
    }

    fn push(&mut self, words: [u64; RECORD_WORDS]) {
        // SAFETY: `append` made room for a record; a piece is a whole number of records.
        unsafe { self.memory.add(self.used).cast::<[u64; RECORD_WORDS]>().write(words) };
        self.used += RECORD_WORDS;
    }

    fn create(&mut self) -> Result<(), Error> {
        File::options().create_new(true).write(true).open(&self.path)?;
        self.memory = reserve()?;
        self.state = if self.map_piece().is_ok() { StreamState::Mapped } else { StreamState::InMemory };
        self.push([MAGIC, 0, 0, 0]);
        Ok(())
    }

    /// Maps the next piece of the file in place of the current one.
    fn map_piece(&mut self) -> Result<(), Error> {
        let from = self.written + self.used * 8;
        let file = File::options().read(true).write(true).open(&self.path)?;
        if !is_mappable(&file) {
            return Err(Error::from_raw_os_error(libc::ENODEV));
        }
        if !allocate_bytes(&file, from, PIECE_BYTES) {
            return Err(Error::from_raw_os_error(libc::ENOSPC));
        }
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: replaces our own mapping of the same size; the file has this many bytes.
        let mapped = unsafe { libc::mmap(self.memory.cast(), PIECE_BYTES, access, flags, file.as_raw_fd(), from as libc::off_t) };
        if mapped == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        (self.written, self.used) = (from, 0);
        Ok(())
    }

    /// Appends the piece in memory to the file.
    fn write_piece(&mut self) -> Result<(), Error> {
        let bytes = self.used * 8;
        if !fits_file_limit(self.written + bytes) {
            return Err(Error::from_raw_os_error(libc::EFBIG));
        }
        // SAFETY: this many bytes of the piece are in use.
        let piece = unsafe { std::slice::from_raw_parts(self.memory.cast::<u8>(), bytes) };
        File::options().append(true).open(&self.path)?.write_all(piece)?;
        (self.written, self.used) = (self.written + bytes, 0);
        Ok(())
    }

    #[cold]
    fn end(&mut self, error: &Error) {
        self.state = StreamState::Ended;
        process::note(&format!(
            "thread {}: from some point on, times off the processor could not be written to disk: {error}",
            self.thread
        ));
    }

    /// Writes what would be lost with the process.
    pub(super) fn finish(&mut self) {
        if let StreamState::InMemory = self.state
            && let Err(error) = self.write_piece()
        {
            self.end(&error);
        }
    }
}

/// Reserves memory for a piece.
fn reserve() -> Result<*mut u64, Error> {
    crate::block_region::map(PIECE_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).map(<*mut u8>::cast).ok_or_else(Error::last_os_error)
}
