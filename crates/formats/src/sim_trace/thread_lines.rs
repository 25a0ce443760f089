//! Indexes which lines of a trace's files belong to each thread.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::PathContext;
use crate::{Error, FilePosition};

/// Total read buffer of all threads, as long as each gets a reasonable share.
const TOTAL_BUFFER_BYTES: usize = 1 << 26;

/// Longer lines are rejected.
const MAX_LINE_BYTES: u64 = 1 << 24;

/// A range of consecutive lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineRange {
    file: u32,
    begin: u64,
    end: u64,
    /// Number of the first line, from 1.
    first_line: u64,
}

/// The lines of each thread of each rank.
#[derive(Clone, Debug, Default)]
pub struct ThreadLineIndex {
    files: Vec<PathBuf>,
    ranges: BTreeMap<(u32, u16), Vec<LineRange>>,
}

impl ThreadLineIndex {
    /// Reads a file once; `whose` returns the thread of each line, or `None`. Its errors are reported with the line.
    pub(crate) fn index_file(
        &mut self,
        path: &Path,
        mut whose: impl FnMut(&str) -> Result<Option<(u32, u16)>, String>,
    ) -> Result<(), Error> {
        let file = self.files.len() as u32;
        self.files.push(path.to_owned());
        let mut lines = BufferedLines::new(File::open(path).with_path(path)?, 1 << 20);
        let mut begin = 0;
        while lines.read_line(path)? {
            let wrong = |what| Error::Malformed { path: path.to_owned(), position: FilePosition::Line(lines.number), what };
            let owner = whose(lines.text().map_err(wrong)?).map_err(wrong)?;
            let end = begin + lines.line.len() as u64;
            if let Some(owner) = owner {
                self.push_range(owner, LineRange { file, begin, end, first_line: lines.number });
            }
            begin = end;
        }
        Ok(())
    }

    fn push_range(&mut self, owner: (u32, u16), more: LineRange) {
        let own = self.ranges.entry(owner).or_default();
        match own.last_mut() {
            Some(last) if last.file == more.file && last.end == more.begin => last.end = more.end,
            _ => own.push(more),
        }
    }

    /// The threads with lines: rank and thread number.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u16)> {
        self.ranges.keys().copied()
    }

    /// The lines of a thread, from the beginning.
    pub fn lines(&self, rank: u32, thread: u16) -> IndexedLines<'_> {
        IndexedLines { index: self, remaining: self.ranges.get(&(rank, thread)).map_or(&[], |own| own), current: None }
    }
}

/// The lines of a thread.
pub struct IndexedLines<'a> {
    index: &'a ThreadLineIndex,
    remaining: &'a [LineRange],
    current: Option<(u32, BufferedLines<ReopeningReader<'a>>)>,
}

impl IndexedLines<'_> {
    /// Reads and parses the next line; errors are reported with the line.
    pub(crate) fn next_with<T>(&mut self, understand: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, Error> {
        loop {
            if self.current.is_none() && !self.open_next_range() {
                return Ok(None);
            }
            let Some((file, lines)) = &mut self.current else { return Ok(None) };
            let path = &self.index.files[*file as usize];
            if lines.read_line(path)? {
                let wrong = |what| Error::Malformed { path: path.clone(), position: FilePosition::Line(lines.number), what };
                return lines.text().and_then(understand).map(Some).map_err(wrong);
            }
            self.current = None;
        }
    }

    fn open_next_range(&mut self) -> bool {
        let [first, left @ ..] = self.remaining else { return false };
        let file = ReopeningReader { path: &self.index.files[first.file as usize], position: first.begin, end: first.end };
        let at_once = (TOTAL_BUFFER_BYTES / self.index.ranges.len().max(1)).clamp(1 << 10, 1 << 16);
        let lines = BufferedLines { number: first.first_line - 1, ..BufferedLines::new(file, at_once) };
        self.current = Some((first.file, lines));
        self.remaining = left;
        true
    }
}

/// A part of a file that is reopened for each read: all ranks are read concurrently, and a process cannot have that many open files.
struct ReopeningReader<'a> {
    path: &'a Path,
    position: u64,
    end: u64,
}

impl Read for ReopeningReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.position >= self.end {
            return Ok(0);
        }
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.position))?;
        let read = file.take(self.end - self.position).read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

struct BufferedLines<F> {
    file: BufReader<F>,
    line: Vec<u8>,
    number: u64,
}

impl<F: Read> BufferedLines<F> {
    fn new(file: F, at_once: usize) -> BufferedLines<F> {
        BufferedLines { file: BufReader::with_capacity(at_once, file), line: Vec::new(), number: 0 }
    }

    fn read_line(&mut self, path: &Path) -> Result<bool, Error> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.file).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line).with_path(path)?;
        Ok(read > 0)
    }

    fn text(&self) -> Result<&str, String> {
        if self.line.len() as u64 >= MAX_LINE_BYTES {
            return Err("this line is too long for a trace".to_owned());
        }
        std::str::from_utf8(&self.line).map(str::trim).map_err(|_| "this is not UTF-8 text".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn more_ranks_are_read_at_once_than_files_may_be_open() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for round in 0..3 {
            for rank in 0..5000 {
                writeln!(file, "{rank} {round}").unwrap();
            }
        }
        let mut extents = ThreadLineIndex::default();
        let rank = |line: &str| line.split_once(' ').and_then(|(rank, _)| rank.parse().ok()).ok_or_else(String::new);
        extents.index_file(file.path(), |line| rank(line).map(|rank| Some((rank, 0)))).unwrap();
        let mut all: Vec<IndexedLines> = (0..5000).map(|rank| extents.lines(rank, 0)).collect();
        for round in 0..3 {
            for (rank, lines) in all.iter_mut().enumerate() {
                assert_eq!(lines.next_with(|line| Ok(line.to_owned())).unwrap(), Some(format!("{rank} {round}")));
            }
        }
        assert!(all.iter_mut().all(|lines| lines.next_with(|_| Ok(())).unwrap().is_none()));
    }
}
