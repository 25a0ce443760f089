//! Sorting more than fits into memory.
//!
//! A trace is in the order of time over all processes, but what is known of a recording comes rank by rank, and the two ends of a message
//! come from different ranks. Both are questions of order. Items are collected up to a fixed amount, sorted and written to a temporary file
//! as a *run*; reading merges all runs. However long the trace, memory stays small: for each run, a few thousand bytes of two million.
//!
//! An item is a key of `N` bytes, which is compared, and some bytes that belong to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::error::At;

/// Bytes that are collected before they are sorted and written.
const RUN_BYTES: usize = 2 << 20;
/// Bytes in memory while runs are merged, all of them together.
const MERGE_BYTES: usize = 4 << 20;
/// Bytes of a run that are written at a time.
const WRITE_BYTES: usize = 1 << 18;

/// Where runs are kept: a file without a name, which goes away with its owner.
pub struct Runs<const N: usize> {
    file: File,
    folder: PathBuf,
    index: Mutex<Index>,
}

/// Where each run begins and ends in the file.
#[derive(Default)]
struct Index {
    runs: Vec<(u64, u64)>,
    end: u64,
}

impl<const N: usize> Runs<N> {
    /// Begins with nothing; the temporary file will be in this folder.
    pub fn new(folder: &Path) -> Result<Runs<N>, Error> {
        let file = tempfile::tempfile_in(folder).at(folder)?;
        Ok(Runs { file, folder: folder.to_owned(), index: Mutex::default() })
    }

    /// A place to collect items; several threads may each have one.
    pub fn collect(&self) -> Collector<'_, N> {
        Collector { runs: self, bytes: Vec::new(), items: Vec::new() }
    }

    /// All items that were collected so far, in the order of their keys.
    pub fn merge(&self) -> Result<Merge<'_, N>, Error> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let room = (MERGE_BYTES / index.runs.len().max(1)).clamp(4 << 10, 64 << 10);
        let (mut readers, mut first) = (Vec::new(), BinaryHeap::new());
        for (place, (begin, end)) in index.runs.iter().enumerate() {
            let mut reader = Reader { file: &self.file, next: *begin, end: *end, room, buffer: Vec::new(), at: 0 };
            if reader.fill::<N>().at(&self.folder)? {
                first.push(Reverse((reader.key(), place)));
            }
            readers.push(reader);
        }
        Ok(Merge { readers, first, folder: &self.folder, taken: false })
    }

    /// Makes room for a run of so many bytes; says where it begins.
    fn begin(&self, bytes: u64) -> u64 {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = index.end;
        index.end += bytes;
        index.runs.push((begin, begin + bytes));
        begin
    }
}

/// Collects items for [`Runs`].
pub struct Collector<'a, const N: usize> {
    runs: &'a Runs<N>,
    bytes: Vec<u8>,
    items: Vec<([u8; N], u32, u32)>,
}

impl<const N: usize> Collector<'_, N> {
    /// Adds an item; those with equal keys keep the order in which one collector got them.
    pub fn add(&mut self, key: [u8; N], content: &[u8]) -> Result<(), Error> {
        let used = self.bytes.len() + self.items.len() * size_of::<([u8; N], u32, u32)>();
        if used + content.len() > RUN_BYTES && !self.items.is_empty() {
            self.write()?;
        }
        self.items.push((key, self.bytes.len() as u32, content.len() as u32));
        self.bytes.extend_from_slice(content);
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.items.is_empty() { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Error> {
        self.items.sort_by_key(|(key, ..)| *key);
        let mut at = self.runs.begin((self.bytes.len() + self.items.len() * (N + 4)) as u64);
        let mut part = Vec::with_capacity(WRITE_BYTES);
        for (key, begin, length) in &self.items {
            part.extend_from_slice(key);
            part.extend_from_slice(&length.to_le_bytes());
            part.extend_from_slice(&self.bytes[*begin as usize..(begin + length) as usize]);
            if part.len() >= WRITE_BYTES {
                at = self.put(&mut part, at)?;
            }
        }
        self.put(&mut part, at)?;
        self.items.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Writes a part of a run; says where the next one goes.
    fn put(&self, part: &mut Vec<u8>, at: u64) -> Result<u64, Error> {
        self.runs.file.write_all_at(part, at).at(&self.runs.folder)?;
        let next = at + part.len() as u64;
        part.clear();
        Ok(next)
    }
}

/// An item: its key, and what belongs to it.
pub type Item<'a, const N: usize> = ([u8; N], &'a [u8]);

/// Items in the order of their keys.
pub struct Merge<'a, const N: usize> {
    readers: Vec<Reader<'a>>,
    /// The first key of each run that is not at its end.
    first: BinaryHeap<Reverse<([u8; N], usize)>>,
    folder: &'a Path,
    /// Whether the first item of all was handed out.
    taken: bool,
}

impl<const N: usize> Merge<'_, N> {
    /// The key of the next item.
    pub fn peek(&mut self) -> Result<Option<[u8; N]>, Error> {
        if std::mem::take(&mut self.taken)
            && let Some(mut first) = self.first.peek_mut()
        {
            let reader = &mut self.readers[first.0.1];
            reader.pass::<N>();
            if reader.fill::<N>().at(self.folder)? {
                first.0.0 = reader.key();
            } else {
                PeekMut::pop(first);
            }
        }
        Ok(self.first.peek().map(|Reverse((key, _))| *key))
    }

    /// The next item.
    pub fn next_item(&mut self) -> Result<Option<Item<'_, N>>, Error> {
        self.peek()?;
        let Some(Reverse((key, place))) = self.first.peek() else { return Ok(None) };
        self.taken = true;
        Ok(Some((*key, self.readers[*place].content::<N>())))
    }
}

/// Reads one run, a piece at a time.
struct Reader<'a> {
    file: &'a File,
    next: u64,
    end: u64,
    room: usize,
    buffer: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    /// Makes sure that a whole item is in the buffer; says whether there is one.
    fn fill<const N: usize>(&mut self) -> io::Result<bool> {
        self.need(N + 4)?;
        if self.at == self.buffer.len() {
            return Ok(false);
        }
        self.need(N + 4 + self.length::<N>())?;
        Ok(true)
    }

    /// Makes sure that so many bytes are in the buffer, if the run still has them.
    fn need(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.len() - self.at >= bytes || self.next == self.end {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let (have, left) = (self.buffer.len(), self.end - self.next);
        let more = left.min((self.room.max(bytes) - have) as u64) as usize;
        self.buffer.resize(have + more, 0);
        self.file.read_exact_at(&mut self.buffer[have..], self.next)?;
        self.next += more as u64;
        Ok(())
    }

    fn key<const N: usize>(&self) -> [u8; N] {
        *self.buffer[self.at..].first_chunk().expect("an item is in the buffer")
    }

    fn length<const N: usize>(&self) -> usize {
        u32::from_le_bytes(*self.buffer[self.at + N..].first_chunk().expect("an item is in the buffer")) as usize
    }

    fn content<const N: usize>(&self) -> &[u8] {
        let begin = self.at + N + 4;
        &self.buffer[begin..begin + self.length::<N>()]
    }

    fn pass<const N: usize>(&mut self) {
        self.at += N + 4 + self.length::<N>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_the_order_of_their_keys_however_they_were_collected() {
        let folder = tempfile::tempdir().unwrap();
        let runs: Runs<4> = Runs::new(folder.path()).unwrap();
        let content = vec![7; 300_000];
        let key = |place: u32, part: u32| ((place * 7919 % 50) * 4 + part).to_be_bytes();
        for part in 0..4 {
            let mut collector = runs.collect();
            for place in 0..50 {
                collector.add(key(place, part), &content[..(place * 6000) as usize]).unwrap();
            }
            collector.finish().unwrap();
        }
        assert!(runs.index.lock().unwrap().runs.len() >= 4, "there are several runs");
        for _ in 0..2 {
            let mut merge = runs.merge().unwrap();
            for expected in 0..200u32 {
                let (key, content) = merge.next_item().unwrap().unwrap();
                assert_eq!(u32::from_be_bytes(key), expected);
                let place = (0..50).find(|place| place * 7919 % 50 == expected / 4).unwrap();
                assert_eq!(content.len(), place as usize * 6000);
            }
            assert!(merge.next_item().unwrap().is_none());
        }
    }

    #[test]
    fn equal_keys_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let runs: Runs<1> = Runs::new(folder.path()).unwrap();
        let mut collector = runs.collect();
        for number in 0..100u8 {
            collector.add([number / 50], &[number]).unwrap();
        }
        collector.finish().unwrap();
        let mut merge = runs.merge().unwrap();
        for number in 0..100u8 {
            assert_eq!(merge.next_item().unwrap(), Some(([number / 50], &[number][..])));
        }
    }

    #[test]
    fn nothing_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let runs: Runs<8> = Runs::new(folder.path()).unwrap();
        assert!(runs.merge().unwrap().next_item().unwrap().is_none());
    }
}
