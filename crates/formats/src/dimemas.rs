//! Dimemas traces (`.dim`), as in its `file_data_access.h` and `prv2dim` (github.com/bsc-performance-tools/dimemas).
//!
//! ```text
//! #DIMEMAS:"name":1,OFFSET:TASKS(THREADS,…),COMMUNICATORS
//! d:1:COMMUNICATOR:TASKS:TASK:TASK…
//! 1:TASK:THREAD:SECONDS                                           computes
//! 2:TASK:THREAD:TO[:THREAD]:BYTES:TAG:COMMUNICATOR:HOW            sends; in HOW, 1 is synchronous and 2 nonblocking
//! 3:TASK:THREAD:FROM[:THREAD]:BYTES:TAG:COMMUNICATOR:HOW          receives (0), begins to (1), waits for that (2), for all of them (3)
//! 10:TASK:THREAD:OPERATION:COMMUNICATOR:ROOT:THREAD:SENT:RECEIVED[:HOW]
//! ```
//!
//! Nonblocking sends are never waited for. ROOT is the root of a reduction; for other operations it only says whether it is this task.

#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::path::Path;

use crate::Error;
use crate::sim_trace::{CollectiveOp, Completion, IndexedLines, LineError, LineFields, ThreadLineIndex, TraceAction, TraceEnvelope};
pub use write::write;

/// Collectives by Dimemas number.
const COLLECTIVE_OPS: [CollectiveOp; 15] = [
    CollectiveOp::Barrier,
    CollectiveOp::Broadcast,
    CollectiveOp::Gather,
    CollectiveOp::Gatherv,
    CollectiveOp::Scatter,
    CollectiveOp::Scatterv,
    CollectiveOp::Allgather,
    CollectiveOp::Allgatherv,
    CollectiveOp::Alltoall,
    CollectiveOp::Alltoallv,
    CollectiveOp::Reduce,
    CollectiveOp::Allreduce,
    CollectiveOp::ReduceScatter,
    CollectiveOp::Scan,
    CollectiveOp::Alltoallw,
];

/// An opened trace.
#[derive(Debug, Default)]
pub struct DimemasTrace {
    task_count: u32,
    communicators: HashMap<u32, Vec<u32>>,
    /// Roots of the collectives of each communicator, in order, where known.
    roots: HashMap<u32, Vec<Option<u32>>>,
    thread_lines: ThreadLineIndex,
}

/// Opens a trace: reads it once to index the lines of each thread.
pub fn open(path: &Path) -> Result<DimemasTrace, Error> {
    let (mut trace, mut thread_lines) = (DimemasTrace::default(), ThreadLineIndex::default());
    let mut counts = HashMap::new();
    thread_lines.index_file(path, |line| trace.index_line(line, &mut counts))?;
    if trace.task_count == 0 {
        return Err(Error::Unreadable { path: path.to_owned(), what: "the file is empty: not a Dimemas trace".to_owned() });
    }
    trace.thread_lines = thread_lines;
    Ok(trace)
}

impl DimemasTrace {
    /// Number of ranks.
    pub fn rank_count(&self) -> u32 {
        self.task_count
    }

    /// The threads with records: rank and thread number.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u16)> {
        self.thread_lines.threads()
    }

    /// The members of a communicator; all ranks if the trace does not define it.
    pub fn members(&self, communicator: u32) -> Vec<u32> {
        self.communicators.get(&communicator).cloned().unwrap_or_else(|| (0..self.task_count).collect())
    }

    /// The actions of a thread, from the beginning.
    pub fn actions(&self, rank: u32, thread: u16) -> DimemasActions<'_> {
        DimemasActions { trace: self, lines: self.thread_lines.lines(rank, thread), collective_counts: HashMap::new() }
    }

    fn index_line(&mut self, line: &str, counts: &mut HashMap<(u32, u32), usize>) -> Result<Option<(u32, u16)>, LineError> {
        if self.task_count == 0 {
            self.task_count = parse_task_count(line)?;
            return Ok(None);
        }
        let mut fields = LineFields::new(line, ':');
        match fields.next_field() {
            None | Some("" | "s") => Ok(None),
            Some("d") => self.define_communicator(fields).map(|()| None),
            Some(kind) => {
                let (task, thread) = (self.parse_task(&mut fields, "a task")?, fields.next_number("a thread")?);
                if kind == "10" {
                    self.record_root(task, fields, counts)?;
                }
                Ok(Some((task, thread)))
            }
        }
    }

    fn define_communicator(&mut self, mut fields: LineFields) -> Result<(), LineError> {
        if fields.next_field() != Some("1") {
            return Ok(()); // A file or a window, of which nothing is replayed.
        }
        let communicator = fields.next_number("a communicator")?;
        let count: usize = fields.next_number("the number of its members")?;
        let members = fields
            .remaining()
            .into_iter()
            .map(|member| self.parse_task(&mut LineFields::new(member, ':'), "a member"))
            .collect::<Result<Vec<_>, _>>()?;
        if members.len() != count {
            return Err(format!("communicator {communicator} should have {count} members, but {} are listed", members.len()));
        }
        self.communicators.insert(communicator, members);
        Ok(())
    }

    /// Only the root itself is marked; the other members look it up here.
    fn record_root(&mut self, task: u32, mut fields: LineFields, counts: &mut HashMap<(u32, u32), usize>) -> Result<(), LineError> {
        let (_, communicator, root) = parse_collective_header(&mut fields)?;
        let index = counts.entry((task, communicator)).or_default();
        let roots = self.roots.entry(communicator).or_default();
        roots.resize(roots.len().max(*index + 1), None);
        if root == 1 {
            roots[*index] = Some(task);
        }
        *index += 1;
        Ok(())
    }

    fn parse_task(&self, fields: &mut LineFields, what: &str) -> Result<u32, LineError> {
        let task = fields.next_number(what)?;
        if task < self.task_count { Ok(task) } else { Err(format!("there is no task {task}: the header has {}", self.task_count)) }
    }
}

fn parse_task_count(line: &str) -> Result<u32, LineError> {
    let wrong = || "not a Dimemas header: expected a line such as `#DIMEMAS:\"name\":1,0:4(1,1,1,1),1`".to_owned();
    let behind_name = line.strip_prefix("#DIMEMAS:").and_then(|rest| rest.strip_prefix('"')?.split_once("\":")).ok_or_else(wrong)?.1;
    let (_, shape) = behind_name.split_once(':').ok_or_else(wrong)?;
    let count = shape.split(['(', ',']).next().and_then(|count| count.trim().parse().ok());
    count.filter(|count| *count > 0).ok_or_else(wrong)
}

/// Number, communicator and root of a collective.
fn parse_collective_header(fields: &mut LineFields) -> Result<(usize, u32, u32), LineError> {
    Ok((fields.next_number("an operation")?, fields.next_number("a communicator")?, fields.next_number("a root")?))
}

/// The actions of a thread, read one at a time.
pub struct DimemasActions<'a> {
    trace: &'a DimemasTrace,
    lines: IndexedLines<'a>,
    /// Number of collectives so far on each communicator.
    collective_counts: HashMap<u32, usize>,
}

impl Iterator for DimemasActions<'_> {
    type Item = Result<TraceAction, Error>;

    fn next(&mut self) -> Option<Result<TraceAction, Error>> {
        loop {
            let (trace, counts) = (self.trace, &mut self.collective_counts);
            match self.lines.next_with(|line| parse_record(trace, counts, line)) {
                Ok(Some(None)) => {}
                Ok(step) => return step.flatten().map(Ok),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Parses a record; `None` for events and other ignored records.
fn parse_record(trace: &DimemasTrace, counts: &mut HashMap<u32, usize>, line: &str) -> Result<Option<TraceAction>, LineError> {
    let mut fields = LineFields::new(line, ':');
    let kind: u32 = fields.next_number("the kind of a record")?;
    let (_, _): (u32, u16) = (trace.parse_task(&mut fields, "a task")?, fields.next_number("a thread")?);
    Ok(match kind {
        1 | 11 => Some(TraceAction::Compute { seconds: parse_seconds(&mut fields)? }),
        2 => {
            let (to, bytes, mode) = parse_message(trace, fields)?;
            let completion = if mode & 2 == 0 { Completion::Blocking } else { Completion::Detached };
            Some(TraceAction::Send { to, bytes, synchronous: mode & 1 != 0, completion })
        }
        3 => {
            let (from, bytes, mode) = parse_message(trace, fields)?;
            Some(match mode {
                0 => TraceAction::Receive { from, bytes, completion: Completion::Blocking },
                1 => TraceAction::Receive { from, bytes, completion: Completion::Nonblocking },
                2 => TraceAction::Wait { is_send: false, message: from },
                3 => TraceAction::WaitAll { include_sends: false },
                _ => return Err(format!("unknown kind of receive {mode}: expected 0, 1, 2 or 3")),
            })
        }
        10 => Some(parse_collective(trace, counts, fields)?),
        0 | 20.. => None,
        _ => return Err(format!("unknown record type {kind}")),
    })
}

fn parse_seconds(fields: &mut LineFields) -> Result<f64, LineError> {
    let seconds: f64 = fields.next_number("seconds")?;
    if seconds.is_finite() && seconds >= 0.0 { Ok(seconds) } else { Err(format!("invalid duration of {seconds} seconds")) }
}

fn parse_message(trace: &DimemasTrace, fields: LineFields) -> Result<(TraceEnvelope, u64, u32), LineError> {
    let fields = fields.remaining();
    let (peer, rest) = match fields[..] {
        [peer, _thread, _, _, _, _] => (peer, &fields[2..]),
        [peer, _, _, _, _] => (peer, &fields[1..]),
        _ => return Err(format!("a message has five or six fields after the thread, not {}", fields.len())),
    };
    if peer.starts_with('-') {
        return Err("a wildcard receive whose source the trace does not have: it cannot be replayed".to_owned());
    }
    let peer = trace.parse_task(&mut LineFields::new(peer, ':'), "a task")?;
    let number = |index: usize, what: &str| LineFields::new(rest[index], ':').next_number::<i64>(what);
    let tag = number(1, "a tag")?;
    let communicator = u32::try_from(number(2, "a communicator")?).map_err(|_| "negative communicator".to_owned())?;
    let bytes = u64::try_from(number(0, "bytes")?).map_err(|_| "negative message size".to_owned())?;
    let mode = u32::try_from(number(3, "how")?).unwrap_or(u32::MAX);
    let tag = i32::try_from(tag).map_err(|_| format!("the tag {tag} is too large"))?;
    Ok((TraceEnvelope { peer, tag, communicator }, bytes, mode))
}

fn parse_collective(trace: &DimemasTrace, counts: &mut HashMap<u32, usize>, mut fields: LineFields) -> Result<TraceAction, LineError> {
    let (operation, communicator, root) = parse_collective_header(&mut fields)?;
    let op = *COLLECTIVE_OPS.get(operation).ok_or_else(|| format!("unknown collective {operation}"))?;
    let _thread: i64 = fields.next_number("the thread of the root")?;
    let (sent, received) = (fields.next_amount("bytes")?, fields.next_amount("bytes")?);
    let index = counts.entry(communicator).or_default();
    let known_root = trace.roots.get(&communicator).and_then(|roots| roots.get(*index)).copied().flatten();
    *index += 1;
    let root = match op {
        CollectiveOp::Reduce => Some(root).filter(|root| *root < trace.task_count),
        CollectiveOp::Broadcast | CollectiveOp::Gather | CollectiveOp::Gatherv | CollectiveOp::Scatter | CollectiveOp::Scatterv => {
            known_root.or_else(|| trace.members(communicator).first().copied())
        }
        _ => None,
    };
    Ok(TraceAction::Collective { operation: op, communicator, root, sent, received })
}
