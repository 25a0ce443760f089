//! Writes the file of one rank block by block, in constant memory.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::call_table::CallDescriptor;
use crate::definitions::FORMAT_VERSION;
use crate::error::{Error, WithPath};
use crate::sealed::block::{self, BlockBuilder, TickTotals};
use crate::sealed::file_name;

/// Magic number of a file.
pub(super) const FILE_MAGIC: &[u8; 8] = b"SINCALLS";
/// Bytes of a file's header.
pub(super) const FILE_HEADER_BYTES: usize = 16;

/// Writes the file of one rank.
pub struct RankFileWriter {
    file: File,
    path: PathBuf,
    builders: Vec<BlockBuilder>,
    buffer: Vec<u8>,
    stats: WriteStats,
}

/// What was written for a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteStats {
    /// Number of calls.
    pub calls: u64,
    /// File size in bytes.
    pub bytes: u64,
}

impl RankFileWriter {
    /// Creates the file of a rank in a directory.
    pub fn create(folder: &Path, rank: u32) -> Result<RankFileWriter, Error> {
        let path = folder.join(file_name(rank));
        let file = File::create(&path).with_path(&path)?;
        let mut writer = RankFileWriter { file, path, builders: Vec::new(), buffer: Vec::new(), stats: WriteStats::default() };
        writer.buffer.extend_from_slice(FILE_MAGIC);
        writer.buffer.extend(FORMAT_VERSION.to_le_bytes());
        writer.buffer.extend(rank.to_le_bytes());
        writer.write()?;
        Ok(writer)
    }

    /// Appends a call. Calls of a thread must come in order. Times are ticks of the rank's clock in the header.
    pub fn write_call(&mut self, thread: u16, enter: u64, leave: u64, descriptor: &CallDescriptor) -> Result<(), Error> {
        let thread_index = self.thread_index(thread);
        let id = self.descriptor_id(thread_index, descriptor)?;
        self.push(thread_index, enter, leave, id);
        Ok(())
    }

    /// Restarts the request numbering of a thread.
    pub fn set_next_request(&mut self, thread: u16, number: u64) -> Result<(), Error> {
        let thread_index = self.thread_index(thread);
        if self.builders[thread_index].next_request() != number {
            self.flush(thread_index)?;
            self.builders[thread_index].set_next_request(number);
        }
        Ok(())
    }

    /// Appends totals of a thread, for a rank in a profile.
    pub fn write_totals(&mut self, thread: u16, totals: &[(CallDescriptor, TickTotals)]) -> Result<(), Error> {
        for totals in totals.chunks(block::MAX_CALLS) {
            block::encode_totals(thread, totals, &mut self.buffer);
            self.write()?;
            self.stats.calls += totals.iter().map(|(_, totals)| totals.calls).sum::<u64>();
        }
        Ok(())
    }

    /// Flushes all blocks and syncs the file.
    pub fn finish(mut self) -> Result<WriteStats, Error> {
        for thread_index in 0..self.builders.len() {
            self.flush(thread_index)?;
        }
        self.file.sync_all().with_path(&self.path)?;
        Ok(self.stats)
    }

    /// Index of a thread in this writer.
    pub(crate) fn thread_index(&mut self, thread: u16) -> usize {
        self.builders.iter().position(|builder| builder.thread() == thread).unwrap_or_else(|| {
            self.builders.push(BlockBuilder::new(thread));
            self.builders.len() - 1
        })
    }

    /// A descriptor index is valid while this is unchanged.
    pub(crate) fn generation(&self, thread_index: usize) -> u32 {
        self.builders[thread_index].generation()
    }

    /// Number of the next request of a thread.
    pub(crate) fn next_request(&self, thread_index: usize) -> u64 {
        self.builders[thread_index].next_request()
    }

    /// Flushes the block if it is full.
    pub(crate) fn flush_if_full(&mut self, thread_index: usize) -> Result<(), Error> {
        if self.builders[thread_index].is_full() { self.flush(thread_index) } else { Ok(()) }
    }

    /// Descriptor index for the next call.
    pub(crate) fn descriptor_id(&mut self, thread_index: usize, descriptor: &CallDescriptor) -> Result<u16, Error> {
        self.flush_if_full(thread_index)?;
        Ok(self.builders[thread_index].descriptor_id(descriptor))
    }

    /// Appends a call with a numbered descriptor.
    pub(crate) fn push(&mut self, thread_index: usize, enter: u64, leave: u64, id: u16) {
        self.builders[thread_index].push(enter, leave, id);
        self.stats.calls += 1;
    }

    fn flush(&mut self, thread_index: usize) -> Result<(), Error> {
        if self.builders[thread_index].is_empty() {
            return Ok(());
        }
        self.builders[thread_index].finish(&mut self.buffer);
        self.write()
    }

    fn write(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.buffer).with_path(&self.path)?;
        self.stats.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
