//! External merge sort.
//!
//! A trace is in time order over all processes, but a recording is read rank by rank, and the two ends of a message come from different
//! ranks. Items are collected up to a fixed amount, sorted and written to a temporary file as a *run*; reading merges all runs. Memory
//! stays small however long the trace is.
//!
//! An item is a key of `N` bytes, which is compared, and a payload.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::error::PathContext;

/// Bytes collected before they are sorted and written.
const RUN_BYTES: usize = 2 << 20;
/// Buffer size for merging, over all runs.
const MERGE_BYTES: usize = 4 << 20;
/// Bytes of a run written at a time.
const WRITE_BYTES: usize = 1 << 18;

/// The runs, in an unnamed temporary file.
pub(super) struct SortRuns<const N: usize> {
    file: File,
    folder: PathBuf,
    index: Mutex<RunIndex>,
}

/// Begin and end offset of each run.
#[derive(Default)]
struct RunIndex {
    runs: Vec<(u64, u64)>,
    end: u64,
}

impl<const N: usize> SortRuns<N> {
    /// Starts empty, with a temporary file in this folder.
    pub(super) fn new(folder: &Path) -> Result<SortRuns<N>, Error> {
        let file = tempfile::tempfile_in(folder).with_path(folder)?;
        Ok(SortRuns { file, folder: folder.to_owned(), index: Mutex::default() })
    }

    /// A collector for items; several threads may each have one.
    pub(super) fn collector(&self) -> RunCollector<'_, N> {
        RunCollector { runs: self, bytes: Vec::new(), items: Vec::new() }
    }

    /// All items collected so far, in key order.
    pub(super) fn merge(&self) -> Result<RunMerge<'_, N>, Error> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let buffer_bytes = (MERGE_BYTES / index.runs.len().max(1)).clamp(4 << 10, 64 << 10);
        let (mut readers, mut first) = (Vec::new(), BinaryHeap::new());
        for (run_index, (begin, end)) in index.runs.iter().enumerate() {
            let mut reader = RunReader { file: &self.file, next: *begin, end: *end, buffer_bytes, buffer: Vec::new(), at: 0 };
            if reader.fill_item::<N>().with_path(&self.folder)? {
                first.push(Reverse((reader.key(), run_index)));
            }
            readers.push(reader);
        }
        Ok(RunMerge { readers, heads: first, folder: &self.folder, taken: false })
    }

    /// Reserves space for a run; returns its offset.
    fn reserve_run(&self, bytes: u64) -> u64 {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = index.end;
        index.end += bytes;
        index.runs.push((begin, begin + bytes));
        begin
    }
}

/// Collects items for [`SortRuns`].
pub(super) struct RunCollector<'a, const N: usize> {
    runs: &'a SortRuns<N>,
    bytes: Vec<u8>,
    items: Vec<([u8; N], u32, u32)>,
}

impl<const N: usize> RunCollector<'_, N> {
    /// Adds an item; equal keys keep the order in which this collector got them.
    pub(super) fn add(&mut self, key: [u8; N], content: &[u8]) -> Result<(), Error> {
        let used = self.bytes.len() + self.items.len() * size_of::<([u8; N], u32, u32)>();
        if used + content.len() > RUN_BYTES && !self.items.is_empty() {
            self.write_run()?;
        }
        self.items.push((key, self.bytes.len() as u32, content.len() as u32));
        self.bytes.extend_from_slice(content);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Error> {
        if self.items.is_empty() { Ok(()) } else { self.write_run() }
    }

    fn write_run(&mut self) -> Result<(), Error> {
        self.items.sort_by_key(|(key, ..)| *key);
        let mut at = self.runs.reserve_run((self.bytes.len() + self.items.len() * (N + 4)) as u64);
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

    /// Writes a part of a run; returns the next offset.
    fn put(&self, part: &mut Vec<u8>, at: u64) -> Result<u64, Error> {
        self.runs.file.write_all_at(part, at).with_path(&self.runs.folder)?;
        let next = at + part.len() as u64;
        part.clear();
        Ok(next)
    }
}

/// Key and payload.
pub(super) type SortItem<'a, const N: usize> = ([u8; N], &'a [u8]);

/// Items in key order.
pub(super) struct RunMerge<'a, const N: usize> {
    readers: Vec<RunReader<'a>>,
    /// The next key of each run.
    heads: BinaryHeap<Reverse<([u8; N], usize)>>,
    folder: &'a Path,
    /// Whether the first item was returned.
    taken: bool,
}

impl<const N: usize> RunMerge<'_, N> {
    pub(super) fn peek(&mut self) -> Result<Option<[u8; N]>, Error> {
        if std::mem::take(&mut self.taken)
            && let Some(mut first) = self.heads.peek_mut()
        {
            let reader = &mut self.readers[first.0.1];
            reader.advance::<N>();
            if reader.fill_item::<N>().with_path(self.folder)? {
                first.0.0 = reader.key();
            } else {
                PeekMut::pop(first);
            }
        }
        Ok(self.heads.peek().map(|Reverse((key, _))| *key))
    }

    pub(super) fn next_item(&mut self) -> Result<Option<SortItem<'_, N>>, Error> {
        self.peek()?;
        let Some(Reverse((key, run_index))) = self.heads.peek() else { return Ok(None) };
        self.taken = true;
        Ok(Some((*key, self.readers[*run_index].content::<N>())))
    }
}

/// Reads one run piecewise.
struct RunReader<'a> {
    file: &'a File,
    next: u64,
    end: u64,
    buffer_bytes: usize,
    buffer: Vec<u8>,
    at: usize,
}

impl RunReader<'_> {
    /// Ensures that a whole item is buffered; returns whether there is one.
    fn fill_item<const N: usize>(&mut self) -> io::Result<bool> {
        self.ensure_buffered(N + 4)?;
        if self.at == self.buffer.len() {
            return Ok(false);
        }
        self.ensure_buffered(N + 4 + self.length::<N>())?;
        Ok(true)
    }

    /// Ensures that this many bytes are buffered, if the run still has them.
    fn ensure_buffered(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.len() - self.at >= bytes || self.next == self.end {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let (have, left) = (self.buffer.len(), self.end - self.next);
        let more = left.min((self.buffer_bytes.max(bytes) - have) as u64) as usize;
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

    fn advance<const N: usize>(&mut self) {
        self.at += N + 4 + self.length::<N>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_the_order_of_their_keys_however_they_were_collected() {
        let folder = tempfile::tempdir().unwrap();
        let runs: SortRuns<4> = SortRuns::new(folder.path()).unwrap();
        let content = vec![7; 300_000];
        let key = |run_index: u32, part: u32| ((run_index * 7919 % 50) * 4 + part).to_be_bytes();
        for part in 0..4 {
            let mut collector = runs.collector();
            for run_index in 0..50 {
                collector.add(key(run_index, part), &content[..(run_index * 6000) as usize]).unwrap();
            }
            collector.finish().unwrap();
        }
        assert!(runs.index.lock().unwrap().runs.len() >= 4, "there are several runs");
        for _ in 0..2 {
            let mut merge = runs.merge().unwrap();
            for expected in 0..200u32 {
                let (key, content) = merge.next_item().unwrap().unwrap();
                assert_eq!(u32::from_be_bytes(key), expected);
                let run_index = (0..50).find(|run_index| run_index * 7919 % 50 == expected / 4).unwrap();
                assert_eq!(content.len(), run_index as usize * 6000);
            }
            assert!(merge.next_item().unwrap().is_none());
        }
    }

    #[test]
    fn equal_keys_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let runs: SortRuns<1> = SortRuns::new(folder.path()).unwrap();
        let mut collector = runs.collector();
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
        let runs: SortRuns<8> = SortRuns::new(folder.path()).unwrap();
        assert!(runs.merge().unwrap().next_item().unwrap().is_none());
    }
}
