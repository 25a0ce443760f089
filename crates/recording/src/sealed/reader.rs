//! Reads the file of one rank, a block at a time, and puts the blocks of a thread together.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem::take;
use std::path::Path;

use crate::definitions::FORMAT;
use crate::error::{At, Error};
use crate::hash::Known;
use crate::header::Clock;
use crate::sealed::block::{Block, HEADER_BYTES, Header, SLACK};
use crate::sealed::dictionary::Operations;
use crate::sealed::writer::{FILE_HEADER_BYTES, FILE_MAGIC};
use crate::table::CallTable;

/// What is wrong with a file, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file ends, or makes no sense any more, at this byte.
    Cut(u64),
    /// The block at this byte is damaged.
    Damaged(u64),
}

/// The blocks of a file in order.
pub struct Blocks {
    file: File,
    at: u64,
    length: u64,
    buffer: Vec<u8>,
    ended: bool,
    /// The one thread whose blocks are wanted.
    only: Option<u16>,
}

impl Blocks {
    /// Opens a file; a file that is no file of calls is one that is cut at its first byte.
    pub fn open(path: &Path) -> Result<Blocks, Error> {
        let mut file = File::open(path).at(path)?;
        let length = file.metadata().at(path)?.len();
        let mut header = [0; FILE_HEADER_BYTES];
        if length >= FILE_HEADER_BYTES as u64 {
            file.read_exact(&mut header).at(path)?;
        }
        let found = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
        let is_calls = header.starts_with(FILE_MAGIC);
        if is_calls && found > FORMAT {
            return Err(Error::Newer { path: path.to_owned(), found, known: FORMAT });
        }
        let at = if is_calls { FILE_HEADER_BYTES as u64 } else { 0 };
        Ok(Blocks { file, at, length, buffer: Vec::new(), ended: false, only: None })
    }

    /// Opens a file at the block that begins at this byte.
    pub fn open_at(path: &Path, at: u64) -> Result<Blocks, Error> {
        let mut blocks = Blocks::open(path)?;
        blocks.at = at.min(blocks.length);
        blocks.file.seek(SeekFrom::Start(blocks.at)).at(path)?;
        Ok(blocks)
    }

    /// Reads into a buffer that was used before.
    pub fn with_buffer(self, buffer: Vec<u8>) -> Blocks {
        Blocks { buffer, ..self }
    }

    /// The buffer that holds the last block's body.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The byte at which the next block begins.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Passes over the blocks of other threads.
    pub fn only(self, thread: u16) -> Blocks {
        Blocks { only: Some(thread), ..self }
    }

    /// The next block.
    pub fn next(&mut self) -> Option<Result<Block<'_>, Fault>> {
        let (at, header) = loop {
            match self.header()? {
                Ok((at, header)) if self.only.is_some_and(|thread| thread != header.thread) => {
                    if self.file.seek(SeekFrom::Start(self.at)).is_err() {
                        return Some(Err(self.cut(at)));
                    }
                }
                Ok(found) => break found,
                Err(fault) => return Some(Err(fault)),
            }
        };
        self.buffer.resize(header.body + SLACK, 0);
        if self.file.read_exact(&mut self.buffer[..header.body]).is_err() {
            return Some(Err(self.cut(at)));
        }
        Some(Block::new(header, &self.buffer).ok_or(Fault::Damaged(at)))
    }

    /// The next block's header, without its body.
    pub fn skip(&mut self) -> Option<Result<Header, Fault>> {
        let (at, header) = match self.header()? {
            Ok(found) => found,
            Err(fault) => return Some(Err(fault)),
        };
        Some(self.file.seek(SeekFrom::Start(self.at)).map(|_| header).map_err(|_| self.cut(at)))
    }

    /// Reads a header and moves on behind its body, which is all there.
    fn header(&mut self) -> Option<Result<(u64, Header), Fault>> {
        if self.ended || (self.at == self.length && self.at > 0) {
            return None;
        }
        let (at, mut bytes) = (self.at, [0; HEADER_BYTES]);
        let header = match self.file.read_exact(&mut bytes) {
            Ok(()) => Header::read(&bytes),
            Err(_) => None,
        };
        let Some(header) = header.filter(|h| at > 0 && self.length - at >= (HEADER_BYTES + h.body) as u64) else {
            return Some(Err(self.cut(at)));
        };
        self.at = at + (HEADER_BYTES + header.body) as u64;
        Some(Ok((at, header)))
    }

    fn cut(&mut self, at: u64) -> Fault {
        self.ended = true;
        Fault::Cut(at)
    }
}

/// A table that grows block by block.
pub struct Merge {
    /// The table so far.
    pub table: CallTable,
    known: Known,
    places: Vec<u32>,
}

impl Merge {
    /// An empty table, with room for so many calls.
    pub fn new(thread: u16, calls: usize) -> Merge {
        let table = CallTable {
            thread,
            enter: Vec::with_capacity(calls),
            leave: Vec::with_capacity(calls),
            shape: Vec::with_capacity(calls),
            ..CallTable::default()
        };
        Merge { table, known: Known::default(), places: Vec::new() }
    }

    /// Forgets its calls, but keeps their room.
    pub fn clear(&mut self) {
        self.table.enter.clear();
        self.table.leave.clear();
        self.table.shape.clear();
        self.table.shapes.clear();
        self.table.request_bases.clear();
        self.known.clear();
    }

    /// Adds a block; `None` if its content makes no sense, and then nothing is added.
    pub fn add(&mut self, block: &Block, operations: &Operations, clock: &Clock) -> Option<()> {
        let rows = block.rows()?;
        self.place(block, operations)?;
        let (first, base) = (self.table.len(), block.header().first_request);
        if (first, base) != (0, 0) {
            self.table.request_bases.push((first, base));
        }
        // Filling both at once leaves no room to be written twice; only a pair that owns its parts can do that.
        let mut times = (take(&mut self.table.enter), take(&mut self.table.leave));
        times.extend(rows.times(clock));
        (self.table.enter, self.table.leave) = times;
        rows.shapes(&self.places, &mut self.table.shape);
        Some(())
    }

    /// Adds the shapes of a block and finds the place of each in the table.
    fn place(&mut self, block: &Block, operations: &Operations) -> Option<()> {
        self.places.clear();
        let Header { shapes, calls, .. } = *block.header();
        // Where hardly any call repeats within a block, looking for repetitions between blocks takes long and finds nothing.
        if shapes > 1000 && shapes > calls / 4 {
            let first = self.table.shapes.len() as u32;
            block.shapes(operations, &mut self.table.shapes)?;
            self.places.extend(first..self.table.shapes.len() as u32);
            return Some(());
        }
        let mut shapes = Vec::new();
        block.shapes(operations, &mut shapes)?;
        for shape in shapes {
            let place = self.known.place(&shape, &self.table.shapes);
            self.places.push(place.unwrap_or(self.table.shapes.len() as u32));
            if place.is_none() {
                self.table.shapes.push(shape);
            }
        }
        Some(())
    }
}
