//! Reads the file of one rank block by block, and merges the blocks of a thread into a table.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem::take;
use std::path::Path;

use crate::call_table::CallTable;
use crate::definitions::FORMAT_VERSION;
use crate::descriptor_index::DescriptorIndex;
use crate::error::{Error, WithPath};
use crate::header::LinearClock;
use crate::sealed::block::{BlockHeader, HEADER_BYTES, SLACK, SealedBlock};
use crate::sealed::dictionary::FunctionTable;
use crate::sealed::writer::{FILE_HEADER_BYTES, FILE_MAGIC};

/// A problem with a file, and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFault {
    /// The file ends, or is unreadable from here on.
    Truncated(u64),
    /// The block at this byte is damaged.
    Damaged(u64),
}

/// Iterates over the blocks of a file.
pub(crate) struct BlockReader {
    file: File,
    position: u64,
    length: u64,
    buffer: Vec<u8>,
    ended: bool,
    /// Only blocks of this thread are returned.
    thread: Option<u16>,
}

impl BlockReader {
    /// Opens a file. Anything that is not a file of calls is treated as truncated at offset 0.
    pub(crate) fn open(path: &Path) -> Result<BlockReader, Error> {
        let mut file = File::open(path).with_path(path)?;
        let length = file.metadata().with_path(path)?.len();
        let mut header = [0; FILE_HEADER_BYTES];
        if length >= FILE_HEADER_BYTES as u64 {
            file.read_exact(&mut header).with_path(path)?;
        }
        let found = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
        let is_calls = header.starts_with(FILE_MAGIC);
        if is_calls && found > FORMAT_VERSION {
            return Err(Error::NewerFormat { path: path.to_owned(), found, known: FORMAT_VERSION });
        }
        let at = if is_calls { FILE_HEADER_BYTES as u64 } else { 0 };
        Ok(BlockReader { file, position: at, length, buffer: Vec::new(), ended: false, thread: None })
    }

    /// Opens a file at the block with this offset.
    pub(crate) fn open_at(path: &Path, at: u64) -> Result<BlockReader, Error> {
        let mut blocks = BlockReader::open(path)?;
        blocks.position = at.min(blocks.length);
        blocks.file.seek(SeekFrom::Start(blocks.position)).with_path(path)?;
        Ok(blocks)
    }

    /// Reuses a buffer.
    pub(crate) fn with_buffer(self, buffer: Vec<u8>) -> BlockReader {
        BlockReader { buffer, ..self }
    }

    /// Returns the buffer, which holds the body of the last block.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Offset of the next block.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Skips the blocks of other threads.
    pub(crate) fn for_thread(self, thread: u16) -> BlockReader {
        BlockReader { thread: Some(thread), ..self }
    }

    /// The next block.
    pub(crate) fn next(&mut self) -> Option<Result<SealedBlock<'_>, FileFault>> {
        let (at, header) = loop {
            match self.read_header()? {
                Ok((at, header)) if self.thread.is_some_and(|thread| thread != header.thread) => {
                    if self.file.seek(SeekFrom::Start(self.position)).is_err() {
                        return Some(Err(self.truncated(at)));
                    }
                }
                Ok(found) => break found,
                Err(fault) => return Some(Err(fault)),
            }
        };
        self.buffer.resize(header.body + SLACK, 0);
        if self.file.read_exact(&mut self.buffer[..header.body]).is_err() {
            return Some(Err(self.truncated(at)));
        }
        Some(SealedBlock::new(header, &self.buffer).ok_or(FileFault::Damaged(at)))
    }

    /// The next block's header; its body is skipped.
    pub(crate) fn next_header(&mut self) -> Option<Result<BlockHeader, FileFault>> {
        let (at, header) = match self.read_header()? {
            Ok(found) => found,
            Err(fault) => return Some(Err(fault)),
        };
        Some(self.file.seek(SeekFrom::Start(self.position)).map(|_| header).map_err(|_| self.truncated(at)))
    }

    /// Reads a header and advances past its body, after checking that the body is complete.
    fn read_header(&mut self) -> Option<Result<(u64, BlockHeader), FileFault>> {
        if self.ended || (self.position == self.length && self.position > 0) {
            return None;
        }
        let (at, mut bytes) = (self.position, [0; HEADER_BYTES]);
        let header = match self.file.read_exact(&mut bytes) {
            Ok(()) => BlockHeader::parse(&bytes),
            Err(_) => None,
        };
        let Some(header) = header.filter(|h| at > 0 && self.length - at >= (HEADER_BYTES + h.body) as u64) else {
            return Some(Err(self.truncated(at)));
        };
        self.position = at + (HEADER_BYTES + header.body) as u64;
        Some(Ok((at, header)))
    }

    fn truncated(&mut self, at: u64) -> FileFault {
        self.ended = true;
        FileFault::Truncated(at)
    }
}

/// Builds a table block by block.
pub(crate) struct TableBuilder {
    /// The table so far.
    pub table: CallTable,
    index: DescriptorIndex,
    ids: Vec<u32>,
}

impl TableBuilder {
    /// An empty table with capacity for `calls` calls.
    pub(crate) fn new(thread: u16, calls: usize) -> TableBuilder {
        let table = CallTable {
            thread,
            enter: Vec::with_capacity(calls),
            leave: Vec::with_capacity(calls),
            descriptor_ids: Vec::with_capacity(calls),
            ..CallTable::default()
        };
        TableBuilder { table, index: DescriptorIndex::default(), ids: Vec::new() }
    }

    /// Clears the table but keeps its capacity.
    pub(crate) fn clear(&mut self) {
        self.table.enter.clear();
        self.table.leave.clear();
        self.table.descriptor_ids.clear();
        self.table.descriptors.clear();
        self.table.request_bases.clear();
        self.index.clear();
    }

    /// Appends a block; `None`, and nothing added, if its contents are malformed.
    pub(crate) fn add(&mut self, block: &SealedBlock, operations: &FunctionTable, clock: &LinearClock) -> Option<()> {
        let rows = block.rows()?;
        self.map_descriptors(block, operations)?;
        let (first, base) = (self.table.len(), block.header().first_request);
        if (first, base) != (0, 0) {
            self.table.request_bases.push((first, base));
        }
        // `extend` on a pair fills both vectors in one pass; it needs ownership of both.
        let mut times = (take(&mut self.table.enter), take(&mut self.table.leave));
        times.extend(rows.call_times(clock));
        (self.table.enter, self.table.leave) = times;
        rows.map_descriptors(&self.ids, &mut self.table.descriptor_ids);
        Some(())
    }

    /// Adds the descriptors of a block and maps their indices to those of the table.
    fn map_descriptors(&mut self, block: &SealedBlock, operations: &FunctionTable) -> Option<()> {
        self.ids.clear();
        let BlockHeader { descriptors, calls, .. } = *block.header();
        // If hardly any call repeats within a block, looking for repetitions across blocks is slow and useless.
        if descriptors > 1000 && descriptors > calls / 4 {
            let first = self.table.descriptors.len() as u32;
            block.read_descriptors(operations, &mut self.table.descriptors)?;
            self.ids.extend(first..self.table.descriptors.len() as u32);
            return Some(());
        }
        let mut descriptors = Vec::new();
        block.read_descriptors(operations, &mut descriptors)?;
        for descriptor in descriptors {
            let index = self.index.find_or_reserve(&descriptor, &self.table.descriptors);
            self.ids.push(index.unwrap_or(self.table.descriptors.len() as u32));
            if index.is_none() {
                self.table.descriptors.push(descriptor);
            }
        }
        Some(())
    }
}
