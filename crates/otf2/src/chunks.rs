//! Files of records: definitions and events.
//!
//! A file consists of chunks of equal size, so that readers can seek; the last one may be shorter. A chunk starts with the byte order and
//! the numbers of its first and last event; no record crosses its end, and the rest is zero. Both directions stream: the writer holds one
//! chunk, the reader a small part of one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::anchor::{CHUNK_HEADER, END_OF_FILE};
use crate::buffer::{BufferReader, BufferWrite, Endianness};
use crate::error::{Error, PathContext};

const HEADER_BYTES: usize = 18;
const END_OF_CHUNK: u8 = 0;
const LAST_BYTE: u8 = 1;
const LAST_EVENT_OFFSET: usize = 10;
/// The timestamp of the events after it.
const TIMESTAMP: u8 = 5;
const TIMESTAMP_BYTES: usize = 9;
/// Bytes read at a time.
const READ_BYTES: usize = 1 << 16;

/// What a file contains; only events have timestamps and are counted in chunk headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkContent {
    /// Events, with timestamps.
    Events,
    /// Definitions, global or of a location.
    Definitions,
}

/// Writes a file of chunks.
pub struct ChunkWriter {
    file: File,
    path: PathBuf,
    content: ChunkContent,
    chunk_size: usize,
    chunk: Vec<u8>,
    record_count: u64,
    /// Timestamp of the latest event.
    last_time: Option<u64>,
}

impl ChunkWriter {
    /// Creates a file with this chunk size.
    pub fn create(path: PathBuf, content: ChunkContent, chunk_size: u64) -> Result<ChunkWriter, Error> {
        let file = File::create(&path).with_path(&path)?;
        let mut writer =
            ChunkWriter { file, path, content, chunk_size: chunk_size as usize, chunk: Vec::new(), record_count: 0, last_time: None };
        writer.begin_chunk();
        Ok(writer)
    }

    /// Timestamp of the latest event.
    pub fn last_time(&self) -> u64 {
        self.last_time.unwrap_or(0)
    }

    /// The smallest chunk that holds a record of this size.
    pub fn min_chunk_size(record: usize) -> u64 {
        (HEADER_BYTES + TIMESTAMP_BYTES + record + 2) as u64
    }

    /// Appends a definition.
    pub fn write_definition(&mut self, record: &[u8]) -> Result<(), Error> {
        self.reserve(record.len())?;
        self.chunk.extend_from_slice(record);
        self.record_count += 1;
        Ok(())
    }

    /// Appends an event with its attributes. Timestamps are made monotonic: an earlier one becomes the latest.
    #[inline]
    pub fn write_event(&mut self, time: u64, record: &[u8]) -> Result<(), Error> {
        let time = time.max(self.last_time());
        self.reserve(TIMESTAMP_BYTES + record.len())?;
        if self.last_time != Some(time) || self.chunk.len() == HEADER_BYTES {
            self.last_time = Some(time);
            self.chunk.push(TIMESTAMP);
            self.chunk.put_full_u64(time);
        }
        self.chunk.extend_from_slice(record);
        self.record_count += 1;
        Ok(())
    }

    /// Ends the file; returns the number of records.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.chunk.extend([END_OF_FILE, LAST_BYTE]);
        self.flush_chunk()?;
        Ok(self.record_count)
    }

    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        // Two bytes are reserved for the end.
        if self.chunk.len() + bytes + 2 > self.chunk_size {
            if HEADER_BYTES + bytes + 2 > self.chunk_size {
                return Err(Error::RecordTooLong { path: self.path.clone(), bytes });
            }
            self.chunk.resize(self.chunk_size, END_OF_CHUNK);
            self.flush_chunk()?;
            self.begin_chunk();
        }
        Ok(())
    }

    fn begin_chunk(&mut self) {
        self.chunk.clear();
        self.chunk.extend([CHUNK_HEADER, Endianness::WRITTEN_MARK]);
        self.chunk.put_full_u64(self.record_count + 1);
        self.chunk.put_full_u64(0);
    }

    fn flush_chunk(&mut self) -> Result<(), Error> {
        if self.content == ChunkContent::Events {
            self.chunk[LAST_EVENT_OFFSET..HEADER_BYTES].copy_from_slice(&self.record_count.to_le_bytes());
        }
        self.file.write_all(&self.chunk).with_path(&self.path)
    }
}

/// Reads a file of chunks, record by record.
pub struct ChunkReader {
    file: File,
    path: PathBuf,
    content: ChunkContent,
    file_length: u64,
    chunk_size: u64,
    endianness: Endianness,
    window: Vec<u8>,
    /// File offset of the window.
    window_offset: u64,
    /// Position of the next record in the window.
    cursor: usize,
    chunk_end: u64,
    time: u64,
}

/// A record.
pub struct ChunkRecord<'a> {
    /// Its type.
    pub record_type: u8,
    /// Its timestamp; 0 in a definition file.
    pub time: u64,
    /// Its fields.
    pub content: BufferReader<'a>,
}

impl ChunkReader {
    /// Opens a file with this chunk size.
    pub fn open(path: &Path, content: ChunkContent, chunk_size: u64) -> Result<ChunkReader, Error> {
        let file = File::open(path).with_path(path)?;
        let length = file.metadata().with_path(path)?.len();
        let mut chunks = ChunkReader {
            file,
            path: path.to_owned(),
            content,
            file_length: length,
            chunk_size,
            endianness: Endianness::Little,
            window: Vec::new(),
            window_offset: 0,
            cursor: 0,
            chunk_end: 0,
            time: 0,
        };
        chunks.enter_chunk(0)?;
        Ok(chunks)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// File offset of the next record.
    pub fn position(&self) -> u64 {
        self.window_offset + self.cursor as u64
    }

    /// An error at this offset.
    pub fn malformed(&self, at: u64, what: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.clone(), offset: at, reason: what.into() }
    }

    /// The next record. `bare` returns the length of record types without a length field, given the bytes after the type.
    #[inline]
    pub fn next_record(&mut self, bare: impl Fn(u8, &[u8]) -> Option<usize>) -> Result<Option<ChunkRecord<'_>>, Error> {
        loop {
            self.ensure_buffered(10)?;
            let at = self.position();
            let ahead = &self.window[self.cursor..];
            let Some(&kind) = ahead.first() else {
                return Err(self.malformed(at, "the file ends before its last record"));
            };
            match kind {
                END_OF_CHUNK => self.enter_chunk(self.chunk_end)?,
                END_OF_FILE => return Ok(None),
                TIMESTAMP if self.content == ChunkContent::Events => {
                    let time = BufferReader::new(&ahead[1..], self.endianness).full_u64();
                    self.time = time.ok_or_else(|| self.malformed(at, "truncated timestamp"))?;
                    self.cursor += TIMESTAMP_BYTES;
                }
                _ => break,
            }
        }
        let at = self.position();
        let (before, length) = self.record_lengths(&bare).ok_or_else(|| self.malformed(at, "truncated record length"))?;
        if length > self.chunk_end.saturating_sub(at + before as u64) {
            return Err(self.malformed(at, format!("a record of {length} bytes does not fit into its chunk")));
        }
        let whole = before + length as usize;
        self.ensure_buffered(whole)?;
        let record =
            self.window.get(self.cursor..self.cursor + whole).ok_or_else(|| self.malformed(at, "the file ends within a record"))?;
        self.cursor += whole;
        Ok(Some(ChunkRecord { record_type: record[0], time: self.time, content: BufferReader::new(&record[before..], self.endianness) }))
    }

    /// Length of the next record's prefix and of its content.
    fn record_lengths(&self, bare: &impl Fn(u8, &[u8]) -> Option<usize>) -> Option<(usize, u64)> {
        let (kind, ahead) = self.window[self.cursor..].split_first()?;
        if let Some(length) = bare(*kind, ahead) {
            return Some((1, length as u64));
        }
        let mut reader = BufferReader::new(ahead, self.endianness);
        match reader.u8()? {
            u8::MAX => reader.full_u64().map(|length| (10, length)),
            length => Some((2, length.into())),
        }
    }

    /// Ensures that this many bytes of the chunk, or all that remain, are in the window.
    #[inline]
    fn ensure_buffered(&mut self, wanted: usize) -> Result<(), Error> {
        if self.window.len() - self.cursor >= wanted { Ok(()) } else { self.read_more(wanted) }
    }

    fn read_more(&mut self, wanted: usize) -> Result<(), Error> {
        let there = self.window.len() - self.cursor;
        let end = self.window_offset + self.window.len() as u64;
        if end >= self.chunk_end {
            return Ok(());
        }
        self.window.drain(..self.cursor);
        self.window_offset += self.cursor as u64;
        self.cursor = 0;
        let room = (wanted - there).max(READ_BYTES) as u64;
        let more = room.min(self.chunk_end - end);
        Read::take(&self.file, more).read_to_end(&mut self.window).with_path(&self.path)?;
        Ok(())
    }

    fn enter_chunk(&mut self, at: u64) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(at)).with_path(&self.path)?;
        self.window.clear();
        (self.window_offset, self.cursor) = (at, 0);
        self.chunk_end = at.saturating_add(self.chunk_size).min(self.file_length);
        self.ensure_buffered(HEADER_BYTES)?;
        let order = match self.window[..] {
            [CHUNK_HEADER, mark, ..] if self.window.len() >= HEADER_BYTES => Endianness::from_mark(mark),
            _ => None,
        };
        self.endianness = order.ok_or_else(|| self.malformed(at, "not the start of an OTF2 chunk"))?;
        self.cursor = HEADER_BYTES;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 128;

    fn write(path: &Path, count: u64) {
        let mut writer = ChunkWriter::create(path.to_owned(), ChunkContent::Events, SIZE).unwrap();
        for number in 0..count {
            let mut record = Vec::new();
            record.put_record(40, &[number as u8; 7]);
            writer.write_event(1000 + number / 3, &record).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), count);
    }

    fn read(path: &Path) -> Result<Vec<(u64, u8)>, Error> {
        let mut chunks = ChunkReader::open(path, ChunkContent::Events, SIZE)?;
        let mut all = Vec::new();
        while let Some(mut record) = chunks.next_record(|_, _| None)? {
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
        let mut writer = ChunkWriter::create(path.clone(), ChunkContent::Events, SIZE).unwrap();
        for time in [5, 3, 6] {
            let mut record = Vec::new();
            record.put_record(40, &[time as u8]);
            writer.write_event(time, &record).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(read(&path).unwrap(), [(5, 5), (5, 3), (6, 6)]);
    }

    #[test]
    fn a_truncated_file_is_reported() {
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
