//! Computes wait states, messages, the critical path and roles. Reads the history of the run, which needs memory for every call.

use rayon::prelude::*;
use sintonia_insight::critical_path::CriticalPathProfile;
use sintonia_insight::wait_states::{self, WAIT_PATTERNS};
use sintonia_program::graph::ProgramGraph;
use sintonia_program::history::{CallId, History, Location};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw::{bytes_or_zero, part};

use super::records::{MessageRecord, PathInterval, WaitRecord};
use super::{ProgressFn, RankRole};
use crate::cache_file::Error;
use crate::index::SiteFunction;

/// Results of the analysis.
pub(super) struct AnalysisFindings {
    /// Wait states and received messages of each thread, in order.
    pub threads: Vec<ThreadFindings>,
    /// Kinds of wait states that occur.
    pub kinds: Vec<String>,
    /// The critical path, from its start.
    pub path: Vec<PathInterval>,
    pub roles: Vec<RankRole>,
}

/// Results for one thread.
pub(super) struct ThreadFindings {
    pub rank: u32,
    pub thread: u16,
    /// Wait states in the order of its calls.
    pub waits: Vec<WaitRecord>,
    /// Received messages in the order of their completion.
    pub messages: Vec<MessageRecord>,
}

/// Runs all analyses.
pub(super) fn detect_all(recording: &Recording, report: ProgressFn) -> Result<AnalysisFindings, Error> {
    let steps = (1 + ProgramGraph::PASSES) as f64 * recording.header.rank_count().max(1) as f64;
    let read = std::sync::atomic::AtomicU32::new(0);
    let step = |activity: &str| report(activity, f64::from(read.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1) / steps * 0.9);
    let history = History::read(recording, &SingleProcess, &|| step("matching sends and receives"))?;
    let waits = wait_states::find_waits(&history);
    let mut path: Vec<PathInterval> = CriticalPathProfile::from_history(&history, &waits, &SingleProcess)
        .spans
        .into_iter()
        .map(|interval| PathInterval { rank: interval.rank, from: interval.begin_ns, to: interval.end_ns })
        .collect();
    path.sort_unstable_by_key(|interval| (interval.from, interval.to));
    let threads = history.locations.par_iter().zip(&waits).map(|(location, waits)| ThreadFindings {
        rank: location.rank,
        thread: location.calls.thread,
        waits: locate_waits(location, waits),
        messages: received_messages(&history, location),
    });
    let mut threads: Vec<ThreadFindings> = threads.collect();
    let graph = ProgramGraph::from_history(recording, &history, &SingleProcess, &|| step("finding roles"))?;
    drop(history);
    let kinds = renumber_kinds(&mut threads);
    let roles = graph.roles.into_iter().map(|role| RankRole { name: role.name, ranks: role.ranks }).collect();
    Ok(AnalysisFindings { threads, kinds, path, roles })
}

/// Wait states with their times. Waits for another rank are consecutive from the start of the call; waits for others to leave a collective
/// are at its end.
fn locate_waits(location: &Location, waits: &[wait_states::WaitInstance]) -> Vec<WaitRecord> {
    let mut records = Vec::with_capacity(waits.len());
    for same_call in waits.chunk_by(|a, b| a.row == b.row) {
        let row = same_call[0].row as usize;
        let call = descriptor_at(location, same_call[0].row).map_or_else(SiteFunction::default, SiteFunction::from);
        let (mut next, leave) = (location.calls.enter[row], location.calls.leave[row]);
        for wait in same_call {
            let from = if wait.cause == CallId::NONE { leave - wait.ns } else { next };
            next += if wait.cause == CallId::NONE { 0 } else { wait.ns };
            let kind = WAIT_PATTERNS.iter().position(|pattern| pattern == wait.pattern).unwrap_or(0);
            records.push(WaitRecord { row: row as u64, from, ns: wait.ns, kind: kind as u64, call });
        }
    }
    records
}

/// Restricts the kinds of wait states to those that occur, and renumbers them.
fn renumber_kinds(threads: &mut [ThreadFindings]) -> Vec<String> {
    let mut occurs = vec![false; WAIT_PATTERNS.len()];
    threads.iter().flat_map(|thread| &thread.waits).for_each(|wait| occurs[wait.kind as usize] = true);
    let kinds: Vec<usize> = (0..WAIT_PATTERNS.len()).filter(|kind| occurs[*kind]).collect();
    let id = |kind: u64| kinds.partition_point(|other| *other < kind as usize) as u64;
    threads.iter_mut().flat_map(|thread| &mut thread.waits).for_each(|wait| wait.kind = id(wait.kind));
    kinds.into_iter().map(|kind| WAIT_PATTERNS[kind].kind.to_owned()).collect()
}

fn received_messages(history: &History, location: &Location) -> Vec<MessageRecord> {
    let messages = location.received.iter().filter(|received| received.consumed).filter_map(|received| {
        let sender = received.sender.into_option()?;
        let sending = history.location_index(sender).and_then(|index| descriptor_at(&history.locations[index], sender.row));
        let (bytes, tag) = message_size_and_tag(sending, descriptor_at(location, received.row), sender.rank);
        let receive_time = location.calls.leave[received.row as usize];
        Some(MessageRecord { source: sender.rank, send_time: received.send_enter, dest: location.rank, receive_time, bytes, tag })
    });
    messages.collect()
}

fn descriptor_at(location: &Location, row: u32) -> Option<&CallDescriptor> {
    let id = *location.calls.descriptor_ids.get(row as usize)?;
    location.calls.descriptors.get(id as usize)
}

/// Size and tag of a message: from the sending call, or from the receiving call if the former only starts a persistent request.
fn message_size_and_tag(sending: Option<&CallDescriptor>, receiving: Option<&CallDescriptor>, sender: u32) -> (u64, i64) {
    let tag = |tag: i32| i64::from(tag).max(-1);
    if let Some(descriptor) = sending.filter(|descriptor| descriptor.parts & part::SENT != 0) {
        return (descriptor.bytes_sent(), tag(descriptor.tag));
    }
    let Some(descriptor) = receiving else { return (0, -1) };
    let request = descriptor.requests.iter().find(|request| request.is_receive && u32::try_from(request.peer) == Ok(sender));
    request.map_or((descriptor.bytes_received(), tag(descriptor.tag)), |request| (bytes_or_zero(request.received), tag(request.tag)))
}
