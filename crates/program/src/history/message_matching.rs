//! Matches sends and receives.
//!
//! MPI messages do not overtake: of the messages between two processes with the same communicator and tag, the n-th one sent is received by
//! the n-th receive posted, whatever wildcards it used. If several threads of a process send or receive them at the same time, MPI does not
//! order them. They are matched in the order in which the calls returned, and counted.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::rank_scan::{ProbedMessages, ReceiveEnvelope, SendEnvelope};
use super::{CallId, History, Location, UnmatchedMessages};
use crate::process_group::ProcessGroup;

/// The reply to the sender of a message.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct ReceiveReply {
    sender: CallId,
    index: u32,
    receiver: CallId,
    posted_row: u32,
    posted_thread: u32,
    progress_row: u32,
    posted_enter: i64,
    progress_enter: i64,
}

/// Matches sends and receives; both are given by rank of the history.
pub(super) fn match_messages(
    history: &mut History,
    comm: &dyn ProcessGroup,
    envelopes: Vec<Vec<SendEnvelope>>,
    receives: Vec<(Vec<ReceiveEnvelope>, ProbedMessages)>,
) {
    let arrived = distribute(history, comm, envelopes);
    let first = history.distribution.own_ranks().start;
    let per_rank: Vec<&mut [Location]> = split_by_rank(&mut history.locations, &history.location_ranges);
    let opened: Vec<MatchedReceives> = per_rank
        .into_par_iter()
        .zip(receives)
        .enumerate()
        .map(|(index, (locations, (receives, probed)))| match_receives(first + index as u32, locations, &arrived, &receives, &probed))
        .collect();
    drop(arrived);
    let mut replies = Vec::with_capacity(opened.len());
    for matched in opened {
        replies.push(matched.replies);
        history.unmatched.sends += matched.unmatched.sends;
        history.unmatched.receives += matched.unmatched.receives;
        history.unordered += matched.unordered;
    }
    // A single process has all senders and needs no copy of the replies.
    if comm.size() > 1 {
        let buffers = history.distribution.group_by_owner(replies.into_iter().flatten(), |reply| reply.sender.rank);
        replies = comm.all_to_all(buffers);
    }
    for reply in replies.into_iter().flatten() {
        if let Some(location) = history.location_index(reply.sender) {
            let sent = &mut history.locations[location].sent[reply.index as usize];
            (sent.receiver, sent.posted_enter) = (reply.receiver, reply.posted_enter);
            (sent.posted_row, sent.posted_thread) = (reply.posted_row, reply.posted_thread as u16);
            (sent.progress_row, sent.progress_enter) = (reply.progress_row, reply.progress_enter);
        }
    }
}

/// Sends envelopes to the owners of their receivers; each batch is sorted by receiver.
fn distribute(history: &History, comm: &dyn ProcessGroup, envelopes: Vec<Vec<SendEnvelope>>) -> Vec<Vec<SendEnvelope>> {
    let mut batches = match comm.size() {
        1 => envelopes,
        _ => comm.all_to_all(history.distribution.group_by_owner(envelopes.into_iter().flatten(), |envelope| envelope.receiver)),
    };
    batches.par_iter_mut().for_each(|batch| batch.sort_by_key(|envelope| envelope.receiver));
    batches
}

/// The locations of each rank.
fn split_by_rank<'a>(mut locations: &'a mut [Location], ranges: &[std::ops::Range<u32>]) -> Vec<&'a mut [Location]> {
    let mut ranks = Vec::new();
    for index in ranges {
        let (own, rest) = locations.split_at_mut(index.len());
        ranks.push(own);
        locations = rest;
    }
    ranks
}

/// The envelopes for one process, queued by source, communicator and tag.
struct MessageQueues<'a> {
    envelopes: Vec<&'a SendEnvelope>,
    /// The next envelope in the same queue.
    next: Vec<u32>,
    /// The first and the last envelope of each queue.
    ends: FxHashMap<(u32, u32, i32), (u32, u32)>,
}

const END: u32 = u32::MAX;

impl<'a> MessageQueues<'a> {
    fn new(rank: u32, batches: &'a [Vec<SendEnvelope>]) -> MessageQueues<'a> {
        let mut queues = MessageQueues { envelopes: Vec::new(), next: Vec::new(), ends: FxHashMap::default() };
        for batch in batches {
            let from = batch.partition_point(|envelope| envelope.receiver < rank);
            batch[from..].iter().take_while(|envelope| envelope.receiver == rank).for_each(|envelope| queues.push(envelope));
        }
        queues
    }

    fn push(&mut self, envelope: &'a SendEnvelope) {
        let index = self.envelopes.len() as u32;
        self.envelopes.push(envelope);
        self.next.push(END);
        let ends = self.ends.entry((envelope.sender.rank, envelope.communicator, envelope.tag)).or_insert((index, END));
        match ends {
            (first, END) if *first == index => ends.1 = index,
            (_, last) => {
                self.next[*last as usize] = index;
                *last = index;
            }
        }
    }

    fn pop(&mut self, receive: &ReceiveEnvelope) -> Option<&'a SendEnvelope> {
        let (first, _) = self.ends.get_mut(&(receive.source, receive.communicator, receive.tag))?;
        let index = *first as usize;
        let envelope = self.envelopes.get(index)?;
        *first = self.next[index];
        Some(envelope)
    }
}

/// The matched receives of one process.
#[derive(Default)]
struct MatchedReceives {
    replies: Vec<ReceiveReply>,
    unmatched: UnmatchedMessages,
    /// Messages that MPI does not order.
    unordered: u64,
}

/// Matches the receives of one process.
fn match_receives(
    rank: u32,
    locations: &mut [Location],
    batches: &[Vec<SendEnvelope>],
    receives: &[ReceiveEnvelope],
    probed: &ProbedMessages,
) -> MatchedReceives {
    let mut queues = MessageQueues::new(rank, batches);
    let mut matched = MatchedReceives { replies: Vec::with_capacity(receives.len()), ..MatchedReceives::default() };
    for receive in receives {
        let Some(envelope) = queues.pop(receive) else {
            matched.unmatched.receives += 1;
            continue;
        };
        matched.unordered += u64::from(receive.unordered || envelope.flags & SendEnvelope::UNORDERED != 0);
        let end = (receive.location, receive.index);
        for (location, index) in probed.get(&end).copied().into_iter().chain([end]) {
            let received = &mut locations[location as usize].received[index as usize];
            (received.sender, received.sender_index, received.send_enter) = (envelope.sender, envelope.index, envelope.enter);
            received.partitioned = envelope.flags & SendEnvelope::PARTITIONED != 0;
        }
        let (location, posted) = (&locations[receive.location as usize], &locations[receive.posted.0 as usize]);
        let receiver = location.call_id(location.received[receive.index as usize].row);
        let posted_enter = posted.calls.enter[receive.posted.1 as usize];
        let progress_row = progress_row(location, envelope.enter.max(posted_enter)).min(receiver.row as usize);
        matched.replies.push(ReceiveReply {
            sender: envelope.sender,
            index: envelope.index,
            receiver,
            posted_row: receive.posted.1,
            posted_thread: posted.calls.thread.into(),
            progress_row: progress_row as u32,
            posted_enter,
            progress_enter: location.calls.enter[progress_row],
        });
    }
    matched.unmatched.sends = (queues.envelopes.len() - matched.replies.len()) as u64;
    matched
}

/// The first call that has not returned by a point in time.
fn progress_row(location: &Location, since: i64) -> usize {
    location.calls.leave.partition_point(|leave| *leave < since)
}
