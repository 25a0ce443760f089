//! Time-independent traces of SimGrid's SMPI, as read by its `smpi_replay.cpp` (github.com/simgrid/simgrid): a line is a rank, an action
//! and its arguments.
//!
//! ```text
//! 0 init                              0 send 1 TAG COUNT [TYPE]            0 bcast COUNT [ROOT [TYPE]]
//! 0 compute FLOPS                     0 irecv 1 TAG COUNT [TYPE]           0 allreduce COUNT FLOPS [TYPE]
//! 0 sleep SECONDS                     0 wait FROM TO TAG, 0 waitall        0 alltoall SENT RECEIVED [TYPE [TYPE]]
//! ```
//!
//! A list names the file of each rank, or one file with the lines of all. Computation is in floating-point operations; the host speed
//! converts it to time, as SMPI's platform does. All messages and collectives are on `MPI_COMM_WORLD`.

mod action;
#[cfg(test)]
mod tests;
mod write;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::error::PathContext;
use crate::sim_trace::{IndexedLines, LineError, LineFields, ThreadLineIndex, TraceAction};
use action::{ActionContext, parse_action};
pub use write::{output_paths, write};

/// The only communicator.
pub const WORLD: u32 = 0;

/// A longer file is a trace, not a list.
const MAX_LIST_BYTES: u64 = 1 << 26;

/// An opened trace.
#[derive(Debug)]
pub struct SmpiTrace {
    rank_count: u32,
    flops_per_s: f64,
    thread_lines: ThreadLineIndex,
}

/// Opens a trace, or a list and the traces it names: reads them once to index the lines of each rank. Hosts have this speed.
pub fn open(path: &Path, flops_per_s: f64) -> Result<SmpiTrace, Error> {
    if !(flops_per_s.is_finite() && flops_per_s > 0.0) {
        let what = format!("invalid host speed of {flops_per_s} flop/s; expected a number above zero");
        return Err(Error::Unreadable { path: path.to_owned(), what });
    }
    let files = action_files(path)?;
    let mut thread_lines = ThreadLineIndex::default();
    for file in &files {
        thread_lines.index_file(file, |line| parse_rank(line).map(|rank| rank.map(|rank| (rank, 0))))?;
    }
    let count = thread_lines.threads().count() as u32;
    if let Some((missing, _)) = (0..).zip(thread_lines.threads()).find(|(expected, (rank, _))| expected != rank) {
        let what = format!("rank {missing} has no actions, but higher ranks have");
        return Err(Error::Unreadable { path: path.to_owned(), what });
    }
    if count == 0 {
        return Err(Error::Unreadable { path: path.to_owned(), what: "it has no actions: not an SMPI trace".to_owned() });
    }
    Ok(SmpiTrace { rank_count: count, flops_per_s, thread_lines })
}

/// The files with actions: those of a list, or the file itself.
fn action_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let itself = || vec![path.to_owned()];
    if std::fs::metadata(path).with_path(path)?.len() > MAX_LIST_BYTES {
        return Ok(itself());
    }
    let text = std::fs::read(path).with_path(path)?;
    let Ok(text) = String::from_utf8(text) else { return Ok(itself()) };
    let mut names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    if names.peek().is_none_or(|first| parse_rank(first).is_ok()) {
        return Ok(itself());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(names.map(|name| if folder.join(name).exists() { folder.join(name) } else { PathBuf::from(name) }).collect())
}

/// The rank of a line; `None` for empty lines and comments.
fn parse_rank(line: &str) -> Result<Option<u32>, LineError> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (rank, _) = line.split_once(' ').ok_or("expected a rank and an action")?;
    let rank = rank.strip_prefix('p').unwrap_or(rank);
    LineFields::new(rank, ' ').next_number("a rank").map(Some)
}

impl SmpiTrace {
    /// Number of ranks.
    pub fn rank_count(&self) -> u32 {
        self.rank_count
    }

    /// The actions of a rank, from the beginning.
    pub fn actions(&self, rank: u32) -> SmpiActions<'_> {
        let context = ActionContext { rank, rank_count: self.rank_count, flops_per_s: self.flops_per_s, default_element_bytes: 1 };
        SmpiActions { lines: self.thread_lines.lines(rank, 0), context, queued: VecDeque::new() }
    }
}

/// The actions of a rank, read one at a time.
pub struct SmpiActions<'a> {
    lines: IndexedLines<'a>,
    context: ActionContext,
    /// Further actions of the last line.
    queued: VecDeque<TraceAction>,
}

impl Iterator for SmpiActions<'_> {
    type Item = Result<TraceAction, Error>;

    fn next(&mut self) -> Option<Result<TraceAction, Error>> {
        while self.queued.is_empty() {
            let (context, ahead) = (&mut self.context, &mut self.queued);
            match self.lines.next_with(|line| parse_action(context, line, ahead)) {
                Ok(more) => more?,
                Err(error) => return Some(Err(error)),
            }
        }
        self.queued.pop_front().map(Ok)
    }
}
