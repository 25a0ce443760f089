//! The tasks of a master with workers, found in a recording: what the laws of granularity are fed with.
//!
//! The master is the rank that all messages come from or go to. What it sends to a worker and what comes back from it are taken in pairs,
//! in order: each is a task. A last message that has no answer, as one that sends the worker home, is none.

use std::collections::BTreeMap;

use sintonia_insight::segment;
use sintonia_insight::wait::{self, Wait};
use sintonia_program::company::Alone;
use sintonia_program::history::{History, Line};
use sintonia_recording::Recording;

use crate::laws::tasks::Tasks;

/// The least share of all messages that go to or from a master.
const SERVES: f64 = 0.95;

/// Why there are no tasks.
#[derive(Debug, thiserror::Error)]
pub enum NoFarm {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// It holds only sums.
    #[error("it holds only sums (record --profile), and tasks are found in the order of messages")]
    Profile,
    /// No rank is a master.
    #[error("no rank hands out tasks to the others: of {messages} messages, rank {rank} has most, and only {share:.0} % are its own")]
    NoMaster {
        /// How many messages there are.
        messages: u64,
        /// The rank with most of them.
        rank: u32,
        /// Its share in percent.
        share: f64,
    },
    /// There are no messages.
    #[error("no messages pass between its ranks, so there are no tasks")]
    NoMessages,
}

/// What a recording says of a master and its workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Farm {
    /// The master.
    pub master: u32,
    /// How many workers got tasks.
    pub workers: usize,
    /// The tasks.
    pub tasks: Tasks,
}

/// A message as one end sees it.
struct Message {
    row: usize,
    peer: u32,
}

impl Farm {
    /// Finds the tasks in a recording; `progress` is called after each rank that was read.
    pub fn of(recording: &Recording, progress: &(dyn Fn() + Sync)) -> Result<Farm, NoFarm> {
        if recording.header.profile {
            return Err(NoFarm::Profile);
        }
        let history = History::read(recording, &Alone, progress)?;
        let waits = wait::find(&history);
        let master = master(&history)?;
        let (mut tasks, mut workers) = (Tasks::default(), 0);
        let overheads = overheads(&history, &waits, master);
        for line in history.lines.iter().filter(|line| line.rank != master) {
            let computed = computed(line, master);
            let own = overheads.get(&line.rank).map(Vec::as_slice).unwrap_or_default();
            for (computed, overhead) in computed.iter().zip(own) {
                tasks.computing.add(*computed as f64 / 1e9);
                tasks.overhead.add(*overhead as f64 / 1e9);
            }
            workers += usize::from(!computed.is_empty() && !own.is_empty());
        }
        Ok(Farm { master, workers, tasks })
    }
}

fn sent(line: &Line) -> impl Iterator<Item = Message> {
    line.sent.iter().filter_map(|sent| Some(Message { row: sent.row as usize, peer: sent.receiver.known()?.rank }))
}

fn received(line: &Line) -> impl Iterator<Item = Message> {
    let taken = line.received.iter().filter(|received| received.taken);
    taken.filter_map(|received| Some(Message { row: received.row as usize, peer: received.sender.known()?.rank }))
}

/// The rank that hands out the work.
fn master(history: &History) -> Result<u32, NoFarm> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut messages = 0;
    for line in &history.lines {
        for message in sent(line).filter(|message| message.peer != line.rank) {
            messages += 1;
            *counts.entry(line.rank).or_default() += 1;
            *counts.entry(message.peer).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(rank, count)| (*count, std::cmp::Reverse(*rank)));
    match most {
        None => Err(NoFarm::NoMessages),
        Some((rank, own)) if (own as f64) < SERVES * messages as f64 => {
            Err(NoFarm::NoMaster { messages, rank, share: 100.0 * own as f64 / messages as f64 })
        }
        Some((rank, _)) => Ok(rank),
    }
}

/// Nanoseconds that the master spent on each task of each worker without waiting: to send it, and to receive what came of it.
fn overheads(history: &History, waits: &[Vec<Wait>], master: u32) -> BTreeMap<u32, Vec<i64>> {
    let (mut to, mut from): (BTreeMap<u32, Vec<i64>>, BTreeMap<u32, Vec<i64>>) = Default::default();
    for place in history.lines_of(master) {
        let (line, waits) = (&history.lines[place], &waits[place]);
        sent(line).for_each(|message| to.entry(message.peer).or_default().push(busy(line, waits, message.row)));
        received(line).for_each(|message| from.entry(message.peer).or_default().push(busy(line, waits, message.row)));
    }
    let both = |(worker, to): (u32, Vec<i64>)| {
        let from = from.get(&worker).map(Vec::as_slice).unwrap_or_default();
        (worker, to.iter().zip(from).map(|(to, from)| to + from).collect())
    };
    to.into_iter().map(both).collect()
}

/// Nanoseconds that a call took without waiting.
fn busy(line: &Line, waits: &[Wait], row: usize) -> i64 {
    let first = waits.partition_point(|wait| (wait.row as usize) < row);
    let waited: i64 = waits[first..].iter().take_while(|wait| wait.row as usize == row).map(|wait| wait.ns).sum();
    (line.calls.leave[row] - line.calls.enter[row] - waited).max(0)
}

/// Nanoseconds that a worker computed between getting each task and sending back what came of it.
fn computed(line: &Line, master: u32) -> Vec<i64> {
    let results: Vec<usize> = sent(line).filter(|message| message.peer == master).map(|message| message.row).collect();
    let mut begins = received(line).filter(|message| message.peer == master).map(|message| message.row).peekable();
    let mut tasks = Vec::new();
    for result in results {
        // What came in pieces is one task: it begins with the last of them.
        let mut begin = None;
        while let Some(row) = begins.next_if(|row| *row < result) {
            begin = Some(row);
        }
        if let Some(begin) = begin {
            tasks.push((begin + 1..=result).map(|row| segment::length(line, row)).sum());
        }
    }
    tasks
}
