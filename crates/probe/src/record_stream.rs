//! A file of records of a fixed size that grows while the program runs.
//!
//! It is created with the first record. As in [`crate::block_region`], one piece of it is mapped wherever a mapped page cannot fail, so
//! that a killed process loses nothing; elsewhere a piece is kept in anonymous memory and appended when it is full. No file descriptor is
//! kept. A full disk or a file size limit ends it.

use std::fs::File;
use std::io::{Error, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crate::block_region::{allocate_bytes, is_mappable};
use crate::process::{self, fits_file_limit};

/// Size of a piece: a whole number of records.
const PIECE_BYTES: usize = 64 << 10;
const PIECE_WORDS: usize = PIECE_BYTES / 8;

/// Where records are written.
enum StreamState {
    /// No record yet.
    Empty,
    /// The current piece of the file is mapped.
    Mapped,
    /// The current piece is in anonymous memory.
    InMemory,
    /// Nothing is written any more.
    Ended,
}

/// A file of records of this many words, a power of two. The first word of the file is its magic number; zeros follow it up to the size of
/// a record, and the last record.
pub(crate) struct RecordStream<const WORDS: usize> {
    path: PathBuf,
    magic: u64,
    /// What the records are, for messages.
    content: String,
    state: StreamState,
    /// The current piece.
    memory: *mut u64,
    /// Words in use in it.
    used: usize,
    /// Bytes of the file before it.
    written: usize,
}

// SAFETY: the memory is its own, and is accessed only through it.
unsafe impl<const WORDS: usize> Send for RecordStream<WORDS> {}

impl<const WORDS: usize> RecordStream<WORDS> {
    /// A file of this process with the given extension; nothing is created yet.
    pub(crate) fn new(extension: &str, magic: u64, content: String) -> RecordStream<WORDS> {
        const { assert!(PIECE_WORDS.is_multiple_of(WORDS)) };
        let (path, memory) = (process::file_path(extension), std::ptr::null_mut());
        RecordStream { path, magic, content, state: StreamState::Empty, memory, used: 0, written: 0 }
    }

    /// Appends a record.
    pub(crate) fn append(&mut self, record: [u64; WORDS]) {
        let ready = match self.state {
            StreamState::Empty => self.create(),
            StreamState::Ended => return,
            _ if self.used < PIECE_WORDS => Ok(()),
            StreamState::Mapped => self.map_piece(),
            StreamState::InMemory => self.write_piece(),
        };
        match ready {
            Ok(()) => self.push(record),
            Err(error) => self.end(&error),
        }
    }

    fn push(&mut self, words: [u64; WORDS]) {
        // SAFETY: `append` made room for a record; a piece is a whole number of records.
        unsafe { self.memory.add(self.used).cast::<[u64; WORDS]>().write(words) };
        self.used += WORDS;
    }

    fn create(&mut self) -> Result<(), Error> {
        File::options().create_new(true).write(true).open(&self.path)?;
        self.memory = reserve()?;
        self.state = if self.map_piece().is_ok() { StreamState::Mapped } else { StreamState::InMemory };
        let mut first = [0; WORDS];
        first[0] = self.magic;
        self.push(first);
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
        process::note(&format!("from some point on, {} could not be written to disk: {error}", self.content));
    }

    /// Writes what would be lost with the process.
    pub(crate) fn finish(&mut self) {
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

    const MAGIC: u64 = 0x1234;

    fn record(number: u64) -> [u64; 4] {
        [10 * number + 1, 10 * number + 9, number, 1]
    }

    /// Records of a file, and how many bytes follow them.
    fn read(path: &std::path::Path) -> (Vec<[u64; 4]>, usize) {
        let bytes = std::fs::read(path).unwrap();
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words[..4], [MAGIC, 0, 0, 0]);
        let records = words.chunks_exact(4).skip(1).map(|record| record.try_into().unwrap());
        let records: Vec<[u64; 4]> = records.take_while(|record| *record != [0; 4]).collect();
        let used = (records.len() + 1) * 32;
        (records, bytes.len() - used)
    }

    fn stream(name: &str) -> RecordStream<4> {
        let path = std::env::temp_dir().join(format!("sintonia-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        RecordStream { path, ..RecordStream::new("test", MAGIC, "records".into()) }
    }

    #[test]
    fn mapped_records_are_in_the_file_at_once() {
        let mut stream = stream("mapped");
        for number in 0..5000 {
            stream.append(record(number));
            if matches!(number, 0 | 2046 | 2047 | 4999) && matches!(stream.state, StreamState::Mapped) {
                let (found, rest) = read(&stream.path);
                assert_eq!(found, (0..=number).map(record).collect::<Vec<_>>());
                assert!(rest < PIECE_BYTES);
            }
        }
        std::fs::remove_file(&stream.path).unwrap();
    }

    #[test]
    fn records_in_memory_are_written_when_a_piece_is_full_and_at_the_end() {
        let mut stream = stream("memory");
        stream.create().unwrap();
        // As on a file system that cannot be mapped safely.
        File::options().write(true).open(&stream.path).unwrap().set_len(0).unwrap();
        (stream.memory, stream.state, stream.used) = (reserve().unwrap(), StreamState::InMemory, 0);
        stream.push([MAGIC, 0, 0, 0]);
        (0..5000).for_each(|number| stream.append(record(number)));
        assert!(read(&stream.path).0.len() >= 4000);
        stream.finish();
        assert_eq!(read(&stream.path), ((0..5000).map(record).collect(), 0));
        stream.append(record(5000));
        stream.finish();
        assert_eq!(read(&stream.path).0.len(), 5001, "MPI_Abort may return");
        std::fs::remove_file(&stream.path).unwrap();
    }

    #[test]
    fn a_file_that_is_gone_ends_the_stream_and_nothing_else() {
        let mut stream = stream("gone");
        stream.append(record(0));
        std::fs::remove_file(&stream.path).unwrap();
        (1..5000).for_each(|number| stream.append(record(number)));
        assert!(matches!(stream.state, StreamState::Ended));
        assert!(!stream.path.exists());
    }
}
