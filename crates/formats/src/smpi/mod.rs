//! Time-independent traces of SimGrid's SMPI, as its `smpi_replay.cpp` (github.com/simgrid/simgrid) reads them: a line is a rank, an action and
//! its arguments.
//!
//! ```text
//! 0 init                              0 send 1 TAG COUNT [TYPE]            0 bcast COUNT [ROOT [TYPE]]
//! 0 compute FLOPS                     0 irecv 1 TAG COUNT [TYPE]           0 allreduce COUNT FLOPS [TYPE]
//! 0 sleep SECONDS                     0 wait FROM TO TAG, 0 waitall        0 alltoall SENT RECEIVED [TYPE [TYPE]]
//! ```
//!
//! A list names the file of each rank, or one file with the lines of all. Computation is in floating-point operations, which take time only
//! on some host: how many it does in a second must be told, as SMPI finds it in its platform. All messages and operations are of
//! `MPI_COMM_WORLD`.

mod action;
#[cfg(test)]
mod tests;
mod write;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::error::At;
use crate::script::{Extents, Fields, Lines, Step, Wrong};
use action::{Context, understand};
pub use write::{files, write};

/// The communicator of everything.
pub const WORLD: u32 = 0;

/// A list is not longer: what is longer is a trace.
const LONGEST_LIST: u64 = 1 << 26;

/// A trace, opened.
#[derive(Debug)]
pub struct Trace {
    ranks: u32,
    flops_per_s: f64,
    extents: Extents,
}

/// Reads a list and the traces that it names once, or a trace, to know who is in it and where. Hosts do so many operations in a second.
pub fn open(path: &Path, flops_per_s: f64) -> Result<Trace, Error> {
    if !(flops_per_s.is_finite() && flops_per_s > 0.0) {
        let what = format!("a host cannot do {flops_per_s} operations in a second; give a number above zero");
        return Err(Error::Unreadable { path: path.to_owned(), what });
    }
    let files = with_actions(path)?;
    let mut extents = Extents::default();
    for file in &files {
        extents.add(file, |line| rank(line).map(|rank| rank.map(|rank| (rank, 0))))?;
    }
    let count = extents.threads().count() as u32;
    if let Some((missing, _)) = (0..).zip(extents.threads()).find(|(expected, (rank, _))| expected != rank) {
        let what = format!("there is nothing of rank {missing}, though there is of others above it");
        return Err(Error::Unreadable { path: path.to_owned(), what });
    }
    if count == 0 {
        return Err(Error::Unreadable { path: path.to_owned(), what: "it has no actions: no trace of SMPI".to_owned() });
    }
    Ok(Trace { ranks: count, flops_per_s, extents })
}

/// The files with actions: those of a list, or the file itself.
fn with_actions(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let itself = || vec![path.to_owned()];
    if std::fs::metadata(path).at(path)?.len() > LONGEST_LIST {
        return Ok(itself());
    }
    let text = std::fs::read(path).at(path)?;
    let Ok(text) = String::from_utf8(text) else { return Ok(itself()) };
    let mut names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    if names.peek().is_none_or(|first| rank(first).is_ok()) {
        return Ok(itself());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(names.map(|name| if folder.join(name).exists() { folder.join(name) } else { PathBuf::from(name) }).collect())
}

/// The rank that a line is of; none for empty lines and comments.
fn rank(line: &str) -> Result<Option<u32>, Wrong> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (rank, _) = line.split_once(' ').ok_or("a rank and an action are expected")?;
    let rank = rank.strip_prefix('p').unwrap_or(rank);
    Fields::of(rank, ' ').number("a rank").map(Some)
}

impl Trace {
    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The steps of a rank from their beginning.
    pub fn steps(&self, rank: u32) -> Steps<'_> {
        let context = Context { rank, ranks: self.ranks, flops_per_s: self.flops_per_s, type_bytes: 1 };
        Steps { lines: self.extents.lines(rank, 0), context, ahead: VecDeque::new() }
    }
}

/// The steps of a rank, read one at a time.
pub struct Steps<'a> {
    lines: Lines<'a>,
    context: Context,
    /// What the last line said besides.
    ahead: VecDeque<Step>,
}

impl Iterator for Steps<'_> {
    type Item = Result<Step, Error>;

    fn next(&mut self) -> Option<Result<Step, Error>> {
        while self.ahead.is_empty() {
            let (context, ahead) = (&mut self.context, &mut self.ahead);
            match self.lines.next(|line| understand(context, line, ahead)) {
                Ok(more) => more?,
                Err(error) => return Some(Err(error)),
            }
        }
        self.ahead.pop_front().map(Ok)
    }
}
