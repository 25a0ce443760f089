//! Deadlock analysis: who waits for whom.
//!
//! A cycle of waiting ranks is a deadlock of the program on this machine. A rank that waits for one that has ended means the schedule is
//! incomplete.

use std::collections::HashMap;

use super::compiled::CallOp;
use super::location::{LocationState, RequestSlot};
use super::messages::NONE;
use super::state::ReplayState;
use crate::deadlock::{BlockedRank, Deadlock};
use crate::schedule::{Request, Schedule};

/// Maximum number of missing members: all waiting members would list the same ones.
const MAX_MISSING: usize = 64;

/// Finds out who waits for whom.
pub(super) fn analyze(schedule: &dyn Schedule, locations: &[LocationState], state: &ReplayState, blocked: &[u32]) -> Deadlock {
    let mut analysis = DeadlockAnalysis { schedule, state, senders: state.messages.senders(), missing: HashMap::new() };
    let all: Vec<BlockedRank> = blocked.iter().map(|index| analysis.describe(&locations[*index as usize], *index)).collect();
    let ended = locations.iter().filter(|location| location.ended).count();
    Deadlock { cycle: find_cycle(&all), blocked: all, ended }
}

/// Data shared by all blocked ranks, of which there may be a million.
struct DeadlockAnalysis<'a, 'w> {
    schedule: &'a dyn Schedule,
    state: &'a ReplayState<'w>,
    /// Source rank of each channel.
    senders: Vec<u32>,
    /// Missing members by group and sequence number.
    missing: HashMap<(u32, u64), Vec<u32>>,
}

impl DeadlockAnalysis<'_, '_> {
    fn describe(&mut self, location: &LocationState, index: u32) -> BlockedRank {
        let action = location.records.get(location.next_record).map_or(0, |record| record.action as usize);
        let attribution = location.compiled.attributions.get(action);
        let tally = attribution.map(|attribution| &self.state.tallies[attribution.tally as usize]);
        let operation = tally.and_then(|tally| sintonia_mpi::FunctionId::from_index(tally.function));
        let mut waits_for = location.compiled.ops.get(action).map_or_else(Vec::new, |op| self.awaited_ranks(location, index, *op));
        waits_for.sort_unstable();
        waits_for.dedup();
        waits_for.retain(|rank| *rank != location.id.rank);
        let function = operation.map_or("MPI", |operation| operation.name());
        BlockedRank {
            rank: location.id.rank,
            function,
            site_name: attribution.map_or_else(String::new, |attribution| self.schedule.site_name(attribution.site)),
            waits_for,
        }
    }

    /// Ranks a call waits for.
    fn awaited_ranks(&mut self, location: &LocationState, index: u32, op: CallOp) -> Vec<u32> {
        let operand = |operand: u32| location.operands[operand as usize];
        match op {
            CallOp::Send { operand: to, .. } => vec![operand(to).destination],
            CallOp::Receive { operand: from, .. } | CallOp::Probe { operand: from } => self.sender(operand(from).id).into_iter().collect(),
            CallOp::SendReceive { send: to, receive: from } => {
                let [out, inward] = location.held_messages;
                let is_sent = inward != NONE && self.state.messages.get(inward).sent.is_known();
                let is_posted = out != NONE && self.state.messages.get(out).posted.is_known();
                let awaited = (!is_posted).then_some(operand(to).destination);
                awaited.into_iter().chain(self.sender(operand(from).id).filter(|_| !is_sent)).collect()
            }
            CallOp::Complete { first, count } => {
                let listed = &location.compiled.request_operands[first as usize..(first + count) as usize];
                listed.iter().filter_map(|listed| self.awaited_by_request(index, listed.request)).collect()
            }
            CallOp::Collective { operand: member, .. } => self.missing_members(operand(member).id),
            CallOp::Other { .. } => {
                let windows = location.rma.get().into_iter();
                windows
                    .flat_map(|windows| windows.access_groups.values().chain(windows.exposure_groups.values()))
                    .flatten()
                    .copied()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn sender(&self, channel: u32) -> Option<u32> {
        self.senders.get(channel as usize).copied()
    }

    /// The rank a pending request waits for.
    fn awaited_by_request(&self, index: u32, request: Request) -> Option<u32> {
        let Request::Relative(ago) = request else { return None };
        let (requests, messages) = (&self.state.requests[index as usize], &self.state.messages);
        match requests.get(requests.next_number().wrapping_sub(1 + ago)) {
            RequestSlot::PendingReceive(id) if !messages.get(id).sent.is_known() => self.sender(messages.get(id).channel),
            RequestSlot::PendingSend(id) if !messages.get(id).posted.is_known() => Some(messages.get(id).destination),
            _ => None,
        }
    }

    /// The first members that have not joined the collective a location waits in.
    fn missing_members(&mut self, member: u32) -> Vec<u32> {
        let state = self.state;
        let own = state.collectives.members[member as usize];
        let find = || {
            let members = state.collectives.group(own.group);
            let has_joined = |rank: u32| {
                let first = state.first_locations.get(rank as usize).copied().unwrap_or(NONE);
                let member = state.member_ids.get(&(first, members.group)).map(|member| state.collectives.members[*member as usize]);
                member.is_some_and(|member| member.next_sequence >= own.next_sequence)
            };
            members.ranks.iter().copied().filter(|rank| !has_joined(*rank)).take(MAX_MISSING).collect()
        };
        self.missing.entry((own.group, own.next_sequence)).or_insert_with(find).clone()
    }
}

/// A cycle of ranks in which each waits for the next.
fn find_cycle(blocked: &[BlockedRank]) -> Vec<u32> {
    let waiting: HashMap<u32, &BlockedRank> = blocked.iter().rev().map(|blocked| (blocked.rank, blocked)).collect();
    let next = |rank: u32| waiting.get(&rank)?.waits_for.iter().copied().find(|other| waiting.contains_key(other));
    let (mut path, mut positions) = (Vec::new(), HashMap::new());
    let mut at = blocked.first().map(|blocked| blocked.rank);
    while let Some(rank) = at {
        if let Some(begin) = positions.insert(rank, path.len()) {
            return path.split_off(begin);
        }
        path.push(rank);
        at = next(rank);
    }
    Vec::new()
}
