//! Traces of Dimemas (`.dim`), as its `file_data_access.h` and `prv2dim` (github.com/bsc-performance-tools/dimemas) have them.
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
//! Nobody waits for a nonblocking send. ROOT is the root of a reduction, and of other operations only whether it is this task.

#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::path::Path;

use crate::Error;
use crate::script::{End, Envelope, Extents, Fields, Lines, Pattern, Step, Wrong};
pub use write::write;

/// The operations of groups, by number.
const OPERATIONS: [Pattern; 15] = [
    Pattern::Barrier,
    Pattern::Broadcast,
    Pattern::Gather,
    Pattern::Gatherv,
    Pattern::Scatter,
    Pattern::Scatterv,
    Pattern::Allgather,
    Pattern::Allgatherv,
    Pattern::Alltoall,
    Pattern::Alltoallv,
    Pattern::Reduce,
    Pattern::Allreduce,
    Pattern::ReduceScatter,
    Pattern::Scan,
    Pattern::Alltoallw,
];

/// A trace, opened.
#[derive(Debug, Default)]
pub struct Trace {
    tasks: u32,
    communicators: HashMap<u32, Vec<u32>>,
    /// Of the operations of each communicator, one after the other, the root where one was told.
    roots: HashMap<u32, Vec<Option<u32>>>,
    extents: Extents,
}

/// Reads a trace once, to know who is in it and where.
pub fn open(path: &Path) -> Result<Trace, Error> {
    let (mut trace, mut extents) = (Trace::default(), Extents::default());
    let mut met = HashMap::new();
    extents.add(path, |line| trace.look_at(line, &mut met))?;
    if trace.tasks == 0 {
        return Err(Error::Unreadable { path: path.to_owned(), what: "it is empty: no trace of Dimemas".to_owned() });
    }
    trace.extents = extents;
    Ok(trace)
}

impl Trace {
    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.tasks
    }

    /// The threads that do something: rank, and number of the thread.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u16)> {
        self.extents.threads()
    }

    /// The members of a communicator; all ranks, if the trace does not define it.
    pub fn members(&self, communicator: u32) -> Vec<u32> {
        self.communicators.get(&communicator).cloned().unwrap_or_else(|| (0..self.tasks).collect())
    }

    /// The steps of a thread from their beginning.
    pub fn steps(&self, rank: u32, thread: u16) -> Steps<'_> {
        Steps { trace: self, lines: self.extents.lines(rank, thread), met: HashMap::new() }
    }

    fn look_at(&mut self, line: &str, met: &mut HashMap<(u32, u32), usize>) -> Result<Option<(u32, u16)>, Wrong> {
        if self.tasks == 0 {
            self.tasks = tasks(line)?;
            return Ok(None);
        }
        let mut fields = Fields::of(line, ':');
        match fields.next() {
            None | Some("" | "s") => Ok(None),
            Some("d") => self.define(fields).map(|()| None),
            Some(kind) => {
                let (task, thread) = (self.task(&mut fields, "a task")?, fields.number("a thread")?);
                if kind == "10" {
                    self.note_root(task, fields, met)?;
                }
                Ok(Some((task, thread)))
            }
        }
    }

    fn define(&mut self, mut fields: Fields) -> Result<(), Wrong> {
        if fields.next() != Some("1") {
            return Ok(()); // A file or a window, of which nothing is replayed.
        }
        let communicator = fields.number("a communicator")?;
        let count: usize = fields.number("the number of its members")?;
        let members =
            fields.all().into_iter().map(|member| self.task(&mut Fields::of(member, ':'), "a member")).collect::<Result<Vec<_>, _>>()?;
        if members.len() != count {
            return Err(format!("communicator {communicator} is said to have {count} members, and {} are told", members.len()));
        }
        self.communicators.insert(communicator, members);
        Ok(())
    }

    /// Only the root says that it is; the others find it here.
    fn note_root(&mut self, task: u32, mut fields: Fields, met: &mut HashMap<(u32, u32), usize>) -> Result<(), Wrong> {
        let (_, communicator, root) = group(&mut fields)?;
        let place = met.entry((task, communicator)).or_default();
        let roots = self.roots.entry(communicator).or_default();
        roots.resize(roots.len().max(*place + 1), None);
        if root == 1 {
            roots[*place] = Some(task);
        }
        *place += 1;
        Ok(())
    }

    fn task(&self, fields: &mut Fields, what: &str) -> Result<u32, Wrong> {
        let task = fields.number(what)?;
        if task < self.tasks { Ok(task) } else { Err(format!("there is no task {task}: the header says {}", self.tasks)) }
    }
}

/// The number of tasks in the header.
fn tasks(line: &str) -> Result<u32, Wrong> {
    let wrong = || "this is no header of a Dimemas trace: `#DIMEMAS:\"name\":1,0:4(1,1,1,1),1` or the like is expected".to_owned();
    let behind_name = line.strip_prefix("#DIMEMAS:").and_then(|rest| rest.strip_prefix('"')?.split_once("\":")).ok_or_else(wrong)?.1;
    let (_, shape) = behind_name.split_once(':').ok_or_else(wrong)?;
    let count = shape.split(['(', ',']).next().and_then(|count| count.trim().parse().ok());
    count.filter(|count| *count > 0).ok_or_else(wrong)
}

/// Number, communicator and root of an operation of a group.
fn group(fields: &mut Fields) -> Result<(usize, u32, u32), Wrong> {
    Ok((fields.number("an operation")?, fields.number("a communicator")?, fields.number("a root")?))
}

/// The steps of a thread, read one at a time.
pub struct Steps<'a> {
    trace: &'a Trace,
    lines: Lines<'a>,
    /// How many operations of each communicator there were.
    met: HashMap<u32, usize>,
}

impl Iterator for Steps<'_> {
    type Item = Result<Step, Error>;

    fn next(&mut self) -> Option<Result<Step, Error>> {
        loop {
            let (trace, met) = (self.trace, &mut self.met);
            match self.lines.next(|line| step(trace, met, line)) {
                Ok(Some(None)) => {}
                Ok(step) => return step.flatten().map(Ok),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// What a line says; nothing for events and the like.
fn step(trace: &Trace, met: &mut HashMap<u32, usize>, line: &str) -> Result<Option<Step>, Wrong> {
    let mut fields = Fields::of(line, ':');
    let kind: u32 = fields.number("the kind of a record")?;
    let (_, _): (u32, u16) = (trace.task(&mut fields, "a task")?, fields.number("a thread")?);
    Ok(match kind {
        1 | 11 => Some(Step::Compute { seconds: seconds(&mut fields)? }),
        2 => {
            let (to, bytes, how) = message(trace, fields)?;
            let end = if how & 2 == 0 { End::Here } else { End::Nowhere };
            Some(Step::Send { to, bytes, synchronous: how & 1 != 0, end })
        }
        3 => {
            let (from, bytes, how) = message(trace, fields)?;
            Some(match how {
                0 => Step::Receive { from, bytes, end: End::Here },
                1 => Step::Receive { from, bytes, end: End::Later },
                2 => Step::Wait { sent: false, message: from },
                3 => Step::WaitAll { sent: false },
                _ => return Err(format!("a receive of the kind {how}: 0, 1, 2 or 3 is expected")),
            })
        }
        10 => Some(collective(trace, met, fields)?),
        0 | 20.. => None,
        _ => return Err(format!("a record of the kind {kind} is not known")),
    })
}

fn seconds(fields: &mut Fields) -> Result<f64, Wrong> {
    let seconds: f64 = fields.number("seconds")?;
    if seconds.is_finite() && seconds >= 0.0 { Ok(seconds) } else { Err(format!("{seconds} seconds cannot be computed")) }
}

fn message(trace: &Trace, fields: Fields) -> Result<(Envelope, u64, u32), Wrong> {
    let fields = fields.all();
    let (peer, rest) = match fields[..] {
        [peer, _thread, _, _, _, _] => (peer, &fields[2..]),
        [peer, _, _, _, _] => (peer, &fields[1..]),
        _ => return Err(format!("a message has five or six fields behind the thread; here are {}", fields.len())),
    };
    if peer.starts_with('-') {
        return Err("this receives from anyone, and the trace does not say what it got: it cannot be replayed".to_owned());
    }
    let peer = trace.task(&mut Fields::of(peer, ':'), "a task")?;
    let number = |place: usize, what: &str| Fields::of(rest[place], ':').number::<i64>(what);
    let tag = number(1, "a tag")?;
    let communicator = u32::try_from(number(2, "a communicator")?).map_err(|_| "a communicator is below zero".to_owned())?;
    let bytes = u64::try_from(number(0, "bytes")?).map_err(|_| "a message has less than no bytes".to_owned())?;
    let how = u32::try_from(number(3, "how")?).unwrap_or(u32::MAX);
    let tag = i32::try_from(tag).map_err(|_| format!("the tag {tag} is too large"))?;
    Ok((Envelope { peer, tag, communicator }, bytes, how))
}

fn collective(trace: &Trace, met: &mut HashMap<u32, usize>, mut fields: Fields) -> Result<Step, Wrong> {
    let (operation, communicator, root) = group(&mut fields)?;
    let pattern = *OPERATIONS.get(operation).ok_or_else(|| format!("an operation of groups with the number {operation} is not known"))?;
    let _thread: i64 = fields.number("the thread of the root")?;
    let (sent, received) = (fields.amount("bytes")?, fields.amount("bytes")?);
    let place = met.entry(communicator).or_default();
    let told = trace.roots.get(&communicator).and_then(|roots| roots.get(*place)).copied().flatten();
    *place += 1;
    let root = match pattern {
        Pattern::Reduce => Some(root).filter(|root| *root < trace.tasks),
        Pattern::Broadcast | Pattern::Gather | Pattern::Gatherv | Pattern::Scatter | Pattern::Scatterv => {
            told.or_else(|| trace.members(communicator).first().copied())
        }
        _ => None,
    };
    Ok(Step::Collective { pattern, communicator, root, sent, received })
}
