//! Where in some files the lines of each rank are.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::At;
use crate::{Error, Place};

/// So much is kept in memory of the lines of all ranks together, as long as each still gets a reasonable part of it.
const IN_MEMORY: usize = 1 << 26;

/// No line is longer; what is longer is something else.
const LONGEST_LINE: u64 = 1 << 24;

/// Lines that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    file: u32,
    begin: u64,
    end: u64,
    /// The number of the first line, from 1.
    line: u64,
}

/// Where the lines of each thread of each rank are.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    files: Vec<PathBuf>,
    of: BTreeMap<(u32, u16), Vec<Extent>>,
}

impl Extents {
    /// Reads a file once, and asks of each line whose it is; none for lines of nobody. A refusal is told with its line.
    pub(crate) fn add(&mut self, path: &Path, mut whose: impl FnMut(&str) -> Result<Option<(u32, u16)>, String>) -> Result<(), Error> {
        let file = self.files.len() as u32;
        self.files.push(path.to_owned());
        let mut lines = Walk::of(File::open(path).at(path)?, 1 << 20);
        let mut begin = 0;
        while lines.next(path)? {
            let wrong = |what| Error::Malformed { path: path.to_owned(), place: Place::Line(lines.number), what };
            let owner = whose(lines.text().map_err(wrong)?).map_err(wrong)?;
            let end = begin + lines.line.len() as u64;
            if let Some(owner) = owner {
                self.extend(owner, Extent { file, begin, end, line: lines.number });
            }
            begin = end;
        }
        Ok(())
    }

    fn extend(&mut self, owner: (u32, u16), more: Extent) {
        let own = self.of.entry(owner).or_default();
        match own.last_mut() {
            Some(last) if last.file == more.file && last.end == more.begin => last.end = more.end,
            _ => own.push(more),
        }
    }

    /// The threads that have lines: rank, and number of the thread.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u16)> {
        self.of.keys().copied()
    }

    /// The lines of a thread from their beginning.
    pub fn lines(&self, rank: u32, thread: u16) -> Lines<'_> {
        Lines { extents: self, left: self.of.get(&(rank, thread)).map_or(&[], |own| own), under_way: None }
    }
}

/// The lines of a thread, one after the other.
pub struct Lines<'a> {
    extents: &'a Extents,
    left: &'a [Extent],
    under_way: Option<(u32, Walk<Reopened<'a>>)>,
}

impl Lines<'_> {
    /// Reads the next line, if there is one, and lets it be understood; a refusal is told with its place.
    pub(crate) fn next<T>(&mut self, understand: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, Error> {
        loop {
            if self.under_way.is_none() && !self.begin() {
                return Ok(None);
            }
            let Some((file, walk)) = &mut self.under_way else { return Ok(None) };
            let path = &self.extents.files[*file as usize];
            if walk.next(path)? {
                let wrong = |what| Error::Malformed { path: path.clone(), place: Place::Line(walk.number), what };
                return walk.text().and_then(understand).map(Some).map_err(wrong);
            }
            self.under_way = None;
        }
    }

    fn begin(&mut self) -> bool {
        let [first, left @ ..] = self.left else { return false };
        let file = Reopened { path: &self.extents.files[first.file as usize], at: first.begin, end: first.end };
        let at_once = (IN_MEMORY / self.extents.of.len().max(1)).clamp(1 << 10, 1 << 16);
        let walk = Walk { number: first.line - 1, ..Walk::of(file, at_once) };
        self.under_way = Some((first.file, walk));
        self.left = left;
        true
    }
}

/// A part of a file that is opened anew for each piece: all ranks are read at once, and a process may not have so many open files.
struct Reopened<'a> {
    path: &'a Path,
    at: u64,
    end: u64,
}

impl Read for Reopened<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.end {
            return Ok(0);
        }
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.take(self.end - self.at).read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Lines of a file, of which one is in memory.
struct Walk<F> {
    file: BufReader<F>,
    line: Vec<u8>,
    number: u64,
}

impl<F: Read> Walk<F> {
    fn of(file: F, at_once: usize) -> Walk<F> {
        Walk { file: BufReader::with_capacity(at_once, file), line: Vec::new(), number: 0 }
    }

    fn next(&mut self, path: &Path) -> Result<bool, Error> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.file).take(LONGEST_LINE).read_until(b'\n', &mut self.line).at(path)?;
        Ok(read > 0)
    }

    fn text(&self) -> Result<&str, String> {
        if self.line.len() as u64 >= LONGEST_LINE {
            return Err("this line is too long for a trace".to_owned());
        }
        std::str::from_utf8(&self.line).map(str::trim).map_err(|_| "this is no text".to_owned())
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
        let mut extents = Extents::default();
        let rank = |line: &str| line.split_once(' ').and_then(|(rank, _)| rank.parse().ok()).ok_or_else(String::new);
        extents.add(file.path(), |line| rank(line).map(|rank| Some((rank, 0)))).unwrap();
        let mut all: Vec<Lines> = (0..5000).map(|rank| extents.lines(rank, 0)).collect();
        for round in 0..3 {
            for (rank, lines) in all.iter_mut().enumerate() {
                assert_eq!(lines.next(|line| Ok(line.to_owned())).unwrap(), Some(format!("{rank} {round}")));
            }
        }
        assert!(all.iter_mut().all(|lines| lines.next(|_| Ok(())).unwrap().is_none()));
    }
}
