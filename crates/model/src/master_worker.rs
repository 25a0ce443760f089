//! Finds the tasks of a master-worker program in a recording, as input for the granularity laws.
//!
//! The master is the rank that all messages come from or go to. What it sends to a worker and what the worker returns are paired in order, one
//! pair per task. A last message without an answer, such as a stop message, is no task.

use std::collections::BTreeMap;

use sintonia_insight::segment;
use sintonia_insight::wait_states::{self, WaitInstance};
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;

use crate::laws::task_times::TaskTimes;

/// The minimum share of all messages that go to or from the master.
const MIN_MASTER_SHARE: f64 = 0.95;

/// Why no tasks were found.
#[derive(Debug, thiserror::Error)]
pub enum MasterWorkerError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// The recording is a profile.
    #[error("it is a profile (record --profile), and finding tasks needs the order of messages")]
    NoCalls,
    /// No rank is a master.
    #[error("no rank hands out tasks to the others: rank {rank} takes part in most of the {messages} messages, but only in {share:.0} %")]
    NoMaster {
        /// The number of messages.
        messages: u64,
        /// The rank with most of them.
        rank: u32,
        /// Its share in percent.
        share: f64,
    },
    /// There are no messages.
    #[error("its ranks exchange no messages, so there are no tasks")]
    NoMessages,
}

/// A master-worker run found in a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MasterWorkerRun {
    /// The rank of the master.
    pub master: u32,
    /// The number of workers that got tasks.
    pub workers: usize,
    /// The task times.
    pub tasks: TaskTimes,
}

/// One side of a message.
struct PeerMessage {
    row: usize,
    peer: u32,
}

impl MasterWorkerRun {
    /// Finds the tasks in a recording; `progress` is called after each rank.
    pub fn from_recording(recording: &Recording, progress: &(dyn Fn() + Sync)) -> Result<MasterWorkerRun, MasterWorkerError> {
        if recording.header.profile {
            return Err(MasterWorkerError::NoCalls);
        }
        let history = History::read(recording, &SingleProcess, progress)?;
        let waits = wait_states::find_waits(&history);
        let master = find_master(&history)?;
        let (mut tasks, mut workers) = (TaskTimes::default(), 0);
        let overheads = master_overheads(&history, &waits, master);
        for location in history.locations.iter().filter(|location| location.rank != master) {
            let computed = task_durations(location, master);
            let own = overheads.get(&location.rank).map(Vec::as_slice).unwrap_or_default();
            for (computed, overhead) in computed.iter().zip(own) {
                tasks.computing.push(*computed as f64 / 1e9);
                tasks.overhead.push(*overhead as f64 / 1e9);
            }
            workers += usize::from(!computed.is_empty() && !own.is_empty());
        }
        Ok(MasterWorkerRun { master, workers, tasks })
    }
}

fn sent_messages(location: &Location) -> impl Iterator<Item = PeerMessage> {
    location.sent.iter().filter_map(|sent| Some(PeerMessage { row: sent.row as usize, peer: sent.receiver.into_option()?.rank }))
}

fn received_messages(location: &Location) -> impl Iterator<Item = PeerMessage> {
    let taken = location.received.iter().filter(|received| received.consumed);
    taken.filter_map(|received| Some(PeerMessage { row: received.row as usize, peer: received.sender.into_option()?.rank }))
}

/// The rank that hands out the work.
fn find_master(history: &History) -> Result<u32, MasterWorkerError> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut messages = 0;
    for location in &history.locations {
        for message in sent_messages(location).filter(|message| message.peer != location.rank) {
            messages += 1;
            *counts.entry(location.rank).or_default() += 1;
            *counts.entry(message.peer).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(rank, count)| (*count, std::cmp::Reverse(*rank)));
    match most {
        None => Err(MasterWorkerError::NoMessages),
        Some((rank, own)) if (own as f64) < MIN_MASTER_SHARE * messages as f64 => {
            Err(MasterWorkerError::NoMaster { messages, rank, share: 100.0 * own as f64 / messages as f64 })
        }
        Some((rank, _)) => Ok(rank),
    }
}

/// Nanoseconds the master spent on each task of each worker without waiting: sending it and receiving its result.
fn master_overheads(history: &History, waits: &[Vec<WaitInstance>], master: u32) -> BTreeMap<u32, Vec<i64>> {
    let (mut to, mut from): (BTreeMap<u32, Vec<i64>>, BTreeMap<u32, Vec<i64>>) = Default::default();
    for index in history.locations_of_rank(master) {
        let (location, waits) = (&history.locations[index], &waits[index]);
        sent_messages(location).for_each(|message| to.entry(message.peer).or_default().push(busy_ns(location, waits, message.row)));
        received_messages(location).for_each(|message| from.entry(message.peer).or_default().push(busy_ns(location, waits, message.row)));
    }
    let both = |(worker, to): (u32, Vec<i64>)| {
        let from = from.get(&worker).map(Vec::as_slice).unwrap_or_default();
        (worker, to.iter().zip(from).map(|(to, from)| to + from).collect())
    };
    to.into_iter().map(both).collect()
}

/// Duration of a call without waiting, in nanoseconds.
fn busy_ns(location: &Location, waits: &[WaitInstance], row: usize) -> i64 {
    let first = waits.partition_point(|wait| (wait.row as usize) < row);
    let waited: i64 = waits[first..].iter().take_while(|wait| wait.row as usize == row).map(|wait| wait.ns).sum();
    (location.calls.leave[row] - location.calls.enter[row] - waited).max(0)
}

/// Nanoseconds a worker computed between receiving each task and sending its result.
fn task_durations(location: &Location, master: u32) -> Vec<i64> {
    let results: Vec<usize> = sent_messages(location).filter(|message| message.peer == master).map(|message| message.row).collect();
    let mut begins = received_messages(location).filter(|message| message.peer == master).map(|message| message.row).peekable();
    let mut tasks = Vec::new();
    for result in results {
        // A task received in several messages begins with the last of them.
        let mut begin = None;
        while let Some(row) = begins.next_if(|row| *row < result) {
            begin = Some(row);
        }
        if let Some(begin) = begin {
            tasks.push((begin + 1..=result).map(|row| segment::segment_ns(location, row)).sum());
        }
    }
    tasks
}
