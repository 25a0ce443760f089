//! Writes the file of one rank, a block at a time, so that memory stays small however many calls there are.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::definitions::FORMAT;
use crate::error::{At, Error};
use crate::sealed::block::{self, Builder, Sums};
use crate::sealed::file_name;
use crate::table::Shape;

/// The first bytes of a file.
pub(super) const FILE_MAGIC: &[u8; 8] = b"SINCALLS";
/// Bytes of a file's header.
pub(super) const FILE_HEADER_BYTES: usize = 16;

/// Writes the calls of one rank.
pub struct Writer {
    file: File,
    path: PathBuf,
    lanes: Vec<Builder>,
    buffer: Vec<u8>,
    written: Written,
}

/// What was written of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How many calls.
    pub calls: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Writer {
    /// Begins the file of a rank in a folder.
    pub fn create(folder: &Path, rank: u32) -> Result<Writer, Error> {
        let path = folder.join(file_name(rank));
        let file = File::create(&path).at(&path)?;
        let mut writer = Writer { file, path, lanes: Vec::new(), buffer: Vec::new(), written: Written::default() };
        writer.buffer.extend_from_slice(FILE_MAGIC);
        writer.buffer.extend(FORMAT.to_le_bytes());
        writer.buffer.extend(rank.to_le_bytes());
        writer.write()?;
        Ok(writer)
    }

    /// Adds a call of a thread; the calls of a thread come in their order. Times are ticks of the clock that the header gives the rank.
    pub fn call(&mut self, thread: u16, enter: u64, leave: u64, shape: &Shape) -> Result<(), Error> {
        let lane = self.lane(thread);
        let number = self.number(lane, shape)?;
        self.push(lane, enter, leave, number);
        Ok(())
    }

    /// Lets the requests of a thread be numbered from here on.
    pub fn set_next_request(&mut self, thread: u16, number: u64) -> Result<(), Error> {
        let lane = self.lane(thread);
        if self.lanes[lane].next_request() != number {
            self.flush(lane)?;
            self.lanes[lane].set_next_request(number);
        }
        Ok(())
    }

    /// Adds sums of a thread, for a rank of which nothing else is known.
    pub fn sums(&mut self, thread: u16, sums: &[(Shape, Sums)]) -> Result<(), Error> {
        for sums in sums.chunks(block::MOST_CALLS) {
            block::write_sums(thread, sums, &mut self.buffer);
            self.write()?;
            self.written.calls += sums.iter().map(|(_, sums)| sums.calls).sum::<u64>();
        }
        Ok(())
    }

    /// Writes what is left and makes sure that it is on disk.
    pub fn finish(mut self) -> Result<Written, Error> {
        for lane in 0..self.lanes.len() {
            self.flush(lane)?;
        }
        self.file.sync_all().at(&self.path)?;
        Ok(self.written)
    }

    /// The place of a thread among those seen.
    pub(crate) fn lane(&mut self, thread: u16) -> usize {
        self.lanes.iter().position(|lane| lane.thread() == thread).unwrap_or_else(|| {
            self.lanes.push(Builder::new(thread));
            self.lanes.len() - 1
        })
    }

    /// A shape's number holds as long as this stays the same.
    pub(crate) fn generation(&self, lane: usize) -> u32 {
        self.lanes[lane].generation()
    }

    /// The number that the next request of a thread will have.
    pub(crate) fn next_request(&self, lane: usize) -> u64 {
        self.lanes[lane].next_request()
    }

    /// Makes room for a call.
    pub(crate) fn make_room(&mut self, lane: usize) -> Result<(), Error> {
        if self.lanes[lane].is_full() { self.flush(lane) } else { Ok(()) }
    }

    /// The number of a shape for a call that follows.
    pub(crate) fn number(&mut self, lane: usize, shape: &Shape) -> Result<u16, Error> {
        self.make_room(lane)?;
        Ok(self.lanes[lane].number(shape))
    }

    /// Adds a call whose shape has a number.
    pub(crate) fn push(&mut self, lane: usize, enter: u64, leave: u64, number: u16) {
        self.lanes[lane].push(enter, leave, number);
        self.written.calls += 1;
    }

    fn flush(&mut self, lane: usize) -> Result<(), Error> {
        if self.lanes[lane].is_empty() {
            return Ok(());
        }
        self.lanes[lane].finish(&mut self.buffer);
        self.write()
    }

    fn write(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.buffer).at(&self.path)?;
        self.written.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
