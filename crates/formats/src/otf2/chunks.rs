//! Files of records: definitions and events.
//!
//! Such a file is a row of chunks of equal size, so that readers can jump; the last one may be shorter. A chunk begins with the order of
//! bytes and the numbers of its first and last event; no record crosses its end, and what is left of it is zero. Both ways are streams:
//! the writer holds one chunk, the reader a small part of one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{At, Error, Place};
use crate::otf2::anchor::{END_OF_FILE, ORDER_RECORD};
use crate::otf2::bytes::{Order, Put, Reader};

const HEADER_BYTES: usize = 18;
const END_OF_CHUNK: u8 = 0;
const LAST_BYTE: u8 = 1;
const LAST_EVENT_AT: usize = 10;
/// The record that says when the events after it happened.
const TIMESTAMP: u8 = 5;
const TIMESTAMP_BYTES: usize = 9;
/// Bytes that are read at a time.
const WINDOW: usize = 1 << 16;

/// What a file of chunks holds: only events have times, and are counted in the headers of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Events, with times.
    Events,
    /// Definitions.
    Definitions,
}

/// Writes a file of chunks.
pub struct Writer {
    file: File,
    path: PathBuf,
    content: Content,
    size: usize,
    chunk: Vec<u8>,
    records: u64,
    /// When the latest event happened.
    now: Option<u64>,
}

impl Writer {
    /// Begins a file whose chunks have this size.
    pub fn create(path: PathBuf, content: Content, size: u64) -> Result<Writer, Error> {
        let file = File::create(&path).at(&path)?;
        let mut writer = Writer { file, path, content, size: size as usize, chunk: Vec::new(), records: 0, now: None };
        writer.begin_chunk();
        Ok(writer)
    }

    /// When the latest event happened.
    pub fn now(&self) -> u64 {
        self.now.unwrap_or(0)
    }

    /// The smallest chunk that a record fits into.
    pub fn least_chunk(record: usize) -> u64 {
        (HEADER_BYTES + TIMESTAMP_BYTES + record + 2) as u64
    }

    /// Adds a definition.
    pub fn definition(&mut self, record: &[u8]) -> Result<(), Error> {
        self.make_room(record.len())?;
        self.chunk.extend_from_slice(record);
        self.records += 1;
        Ok(())
    }

    /// Adds an event, together with its attributes. Time never goes back: an earlier one counts as the latest.
    #[inline]
    pub fn event(&mut self, time: u64, record: &[u8]) -> Result<(), Error> {
        let time = time.max(self.now());
        self.make_room(TIMESTAMP_BYTES + record.len())?;
        if self.now != Some(time) || self.chunk.len() == HEADER_BYTES {
            self.now = Some(time);
            self.chunk.push(TIMESTAMP);
            self.chunk.put_full_u64(time);
        }
        self.chunk.extend_from_slice(record);
        self.records += 1;
        Ok(())
    }

    /// Ends the file and says how many records it has.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.chunk.extend([END_OF_FILE, LAST_BYTE]);
        self.write()?;
        Ok(self.records)
    }

    #[inline]
    fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        // Two bytes are kept for the end.
        if self.chunk.len() + bytes + 2 > self.size {
            self.chunk.resize(self.size, END_OF_CHUNK);
            self.write()?;
            self.begin_chunk();
        }
        Ok(())
    }

    fn begin_chunk(&mut self) {
        self.chunk.clear();
        self.chunk.extend([ORDER_RECORD, Order::WRITTEN]);
        self.chunk.put_full_u64(self.records + 1);
        self.chunk.put_full_u64(0);
    }

    fn write(&mut self) -> Result<(), Error> {
        if self.content == Content::Events {
            self.chunk[LAST_EVENT_AT..HEADER_BYTES].copy_from_slice(&self.records.to_le_bytes());
        }
        self.file.write_all(&self.chunk).at(&self.path)
    }
}

/// Reads a file of chunks, a record at a time.
pub struct Chunks {
    file: File,
    path: PathBuf,
    content: Content,
    length: u64,
    size: u64,
    order: Order,
    window: Vec<u8>,
    /// Where in the file the window begins.
    window_at: u64,
    /// Where in the window the next record begins.
    at: usize,
    chunk_end: u64,
    now: u64,
}

/// A record of a file of chunks.
pub struct Record<'a> {
    /// What it is.
    pub kind: u8,
    /// When it happened; 0 in a file of definitions.
    pub time: u64,
    /// What it holds.
    pub content: Reader<'a>,
}

impl Chunks {
    /// Opens a file whose chunks have this size.
    pub fn open(path: &Path, content: Content, size: u64) -> Result<Chunks, Error> {
        let file = File::open(path).at(path)?;
        let length = file.metadata().at(path)?.len();
        let mut chunks = Chunks {
            file,
            path: path.to_owned(),
            content,
            length,
            size,
            order: Order::Little,
            window: Vec::new(),
            window_at: 0,
            at: 0,
            chunk_end: 0,
            now: 0,
        };
        chunks.enter_chunk(0)?;
        Ok(chunks)
    }

    /// The place of the next record.
    pub fn position(&self) -> u64 {
        self.window_at + self.at as u64
    }

    /// What is wrong at a place.
    pub fn malformed(&self, at: u64, what: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.clone(), place: Place::Byte(at), what: what.into() }
    }

    /// The next record. `bare` says how long a record of a kind is that has no length of its own, given what follows its kind.
    #[inline]
    pub fn next(&mut self, bare: impl Fn(u8, &[u8]) -> Option<usize>) -> Result<Option<Record<'_>>, Error> {
        loop {
            self.fill(10)?;
            let at = self.position();
            let ahead = &self.window[self.at..];
            let Some(&kind) = ahead.first() else {
                return Err(self.malformed(at, "the file ends before its last record"));
            };
            match kind {
                END_OF_CHUNK => self.enter_chunk(self.chunk_end)?,
                END_OF_FILE => return Ok(None),
                TIMESTAMP if self.content == Content::Events => {
                    let time = Reader::new(&ahead[1..], self.order).full_u64();
                    self.now = time.ok_or_else(|| self.malformed(at, "a time is cut"))?;
                    self.at += TIMESTAMP_BYTES;
                }
                _ => break,
            }
        }
        let at = self.position();
        let (before, length) = self.lengths(&bare).ok_or_else(|| self.malformed(at, "the length of a record is cut"))?;
        if length > self.chunk_end.saturating_sub(at + before as u64) {
            return Err(self.malformed(at, format!("a record of {length} bytes does not fit into its chunk")));
        }
        let whole = before + length as usize;
        self.fill(whole)?;
        let record = self.window.get(self.at..self.at + whole).ok_or_else(|| self.malformed(at, "the file ends within a record"))?;
        self.at += whole;
        Ok(Some(Record { kind: record[0], time: self.now, content: Reader::new(&record[before..], self.order) }))
    }

    /// How many bytes stand before what the next record holds, and how many bytes that are.
    fn lengths(&self, bare: &impl Fn(u8, &[u8]) -> Option<usize>) -> Option<(usize, u64)> {
        let (kind, ahead) = self.window[self.at..].split_first()?;
        if let Some(length) = bare(*kind, ahead) {
            return Some((1, length as u64));
        }
        let mut reader = Reader::new(ahead, self.order);
        match reader.u8()? {
            u8::MAX => reader.full_u64().map(|length| (10, length)),
            length => Some((2, length.into())),
        }
    }

    /// Sees to it that so many bytes of the chunk are in the window from here on, or all that there are.
    #[inline]
    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        if self.window.len() - self.at >= wanted { Ok(()) } else { self.read_on(wanted) }
    }

    fn read_on(&mut self, wanted: usize) -> Result<(), Error> {
        let there = self.window.len() - self.at;
        let end = self.window_at + self.window.len() as u64;
        if end >= self.chunk_end {
            return Ok(());
        }
        self.window.drain(..self.at);
        self.window_at += self.at as u64;
        self.at = 0;
        let room = (wanted - there).max(WINDOW) as u64;
        let more = room.min(self.chunk_end - end);
        Read::take(&self.file, more).read_to_end(&mut self.window).at(&self.path)?;
        Ok(())
    }

    fn enter_chunk(&mut self, at: u64) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(at)).at(&self.path)?;
        self.window.clear();
        (self.window_at, self.at) = (at, 0);
        self.chunk_end = at.saturating_add(self.size).min(self.length);
        self.fill(HEADER_BYTES)?;
        let order = match self.window[..] {
            [ORDER_RECORD, mark, ..] if self.window.len() >= HEADER_BYTES => Order::from_mark(mark),
            _ => None,
        };
        self.order = order.ok_or_else(|| self.malformed(at, "no beginning of a chunk of an OTF2 file"))?;
        self.at = HEADER_BYTES;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 128;

    fn write(path: &Path, count: u64) {
        let mut writer = Writer::create(path.to_owned(), Content::Events, SIZE).unwrap();
        for number in 0..count {
            let mut record = Vec::new();
            record.put_record(40, &[number as u8; 7]);
            writer.event(1000 + number / 3, &record).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), count);
    }

    fn read(path: &Path) -> Result<Vec<(u64, u8)>, Error> {
        let mut chunks = Chunks::open(path, Content::Events, SIZE)?;
        let mut all = Vec::new();
        while let Some(mut record) = chunks.next(|_, _| None)? {
            all.push((record.time, record.content.u8().unwrap()));
        }
        Ok(all)
    }

    #[test]
    fn records_and_times_survive_the_borders_of_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.evt");
        write(&path, 100);
        let expected: Vec<(u64, u8)> = (0..100).map(|n| (1000 + n / 3, n as u8)).collect();
        assert_eq!(read(&path).unwrap(), expected);
        let bytes = std::fs::read(&path).unwrap();
        let first_and_last: Vec<(u8, u8)> = bytes.chunks(SIZE as usize).map(|chunk| (chunk[2], chunk[10])).collect();
        assert!(first_and_last.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "events are counted through: {first_and_last:?}");
        assert_eq!(first_and_last.last().unwrap().1, 100);
    }

    #[test]
    fn time_never_goes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.evt");
        let mut writer = Writer::create(path.clone(), Content::Events, SIZE).unwrap();
        for time in [5, 3, 6] {
            let mut record = Vec::new();
            record.put_record(40, &[time as u8]);
            writer.event(time, &record).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(read(&path).unwrap(), [(5, 5), (5, 3), (6, 6)]);
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.evt");
        write(&path, 30);
        let whole = std::fs::read(&path).unwrap();
        // The very last byte only repeats that the file has ended.
        for length in 0..whole.len() - 1 {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("0.evt: byte "), "{length}: {error}");
        }
    }
}
