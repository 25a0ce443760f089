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

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(number: u64) -> RawInterval {
        RawInterval { begin: 10 * number + 1, end: 10 * number + 9, waiting_ns: number, blocked_ns: 1, processor: Some(3) }
    }

    /// Intervals of a file, and how many bytes follow them.
    fn read(path: &std::path::Path) -> (Vec<RawInterval>, usize) {
        let bytes = std::fs::read(path).unwrap();
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words[0], MAGIC);
        let records = words.chunks_exact(RECORD_WORDS).skip(1).map(|record| record.try_into().unwrap());
        let intervals: Vec<RawInterval> = records.map_while(RawInterval::from_words).collect();
        let used = (intervals.len() + 1) * RECORD_WORDS * 8;
        (intervals, bytes.len() - used)
    }

    fn stream(name: &str) -> OffCpuStream {
        let path = std::env::temp_dir().join(format!("sintonia-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        OffCpuStream { path, ..OffCpuStream::new(0) }
    }

    #[test]
    fn mapped_intervals_are_in_the_file_at_once() {
        let mut stream = stream("mapped");
        for number in 0..5000 {
            stream.append(interval(number));
            if matches!(number, 0 | 2046 | 2047 | 4999) && matches!(stream.state, StreamState::Mapped) {
                let (found, rest) = read(&stream.path);
                assert_eq!(found, (0..=number).map(interval).collect::<Vec<_>>());
                assert!(rest < PIECE_BYTES);
            }
        }
        std::fs::remove_file(&stream.path).unwrap();
    }

    #[test]
    fn intervals_in_memory_are_written_when_a_piece_is_full_and_at_the_end() {
        let mut stream = stream("memory");
        stream.create().unwrap();
        // As on a file system that cannot be mapped safely.
        File::options().write(true).open(&stream.path).unwrap().set_len(0).unwrap();
        (stream.memory, stream.state, stream.used) = (reserve().unwrap(), StreamState::InMemory, 0);
        stream.push([MAGIC, 0, 0, 0]);
        (0..5000).for_each(|number| stream.append(interval(number)));
        assert!(read(&stream.path).0.len() >= 4000);
        stream.finish();
        assert_eq!(read(&stream.path), ((0..5000).map(interval).collect(), 0));
        stream.append(interval(5000));
        stream.finish();
        assert_eq!(read(&stream.path).0.len(), 5001, "MPI_Abort may return");
        std::fs::remove_file(&stream.path).unwrap();
    }

    #[test]
    fn a_file_that_is_gone_ends_the_stream_and_nothing_else() {
        let mut stream = stream("gone");
        stream.append(interval(0));
        std::fs::remove_file(&stream.path).unwrap();
        (1..5000).for_each(|number| stream.append(interval(number)));
        assert!(matches!(stream.state, StreamState::Ended));
        assert!(!stream.path.exists());
    }
}
