//! Wildcard receives matched again: on another machine another message may arrive first.
//!
//! A rank's reaction to a message belongs to it: the reply, and the work until the next receive. The calls from one wildcard receive to the
//! next are therefore a *block*, and blocks are replayed in arrival order of their messages. Blocks of one source keep their order, and no
//! block moves across a call that does more than reply.

use super::compiled::CallOp;
use super::deferred_events::DeferredEvent;
use super::location::LocationState;
use super::messages::UNKNOWN_TIME;
use super::state::ReplayState;
use crate::schedule::Request;

/// A wildcard receive and the calls that follow it, as a range of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WildcardBlock {
    first: usize,
    end: usize,
    channel: u32,
}

impl ReplayState<'_> {
    /// Whether a call is a wildcard receive that is matched again. With shared links, arrival times are not known in advance.
    pub(super) fn redecides_wildcard(&self, op: CallOp) -> bool {
        let asked = self.changes.wildcards_by_arrival && matches!(op, CallOp::Receive { request: false, any_source: true, .. });
        asked && self.network.is_none() && self.recorded_network().is_none()
    }

    /// Schedules the decision which message a wildcard receive matches; false if there is no choice.
    pub(super) fn request_wildcard_decision(&mut self, index: u32, location: &mut LocationState) -> bool {
        let blocks = self.candidate_blocks(location);
        let first = blocks.iter().filter_map(|block| self.arrival_time(block)).fold(UNKNOWN_TIME, f64::min);
        if first == UNKNOWN_TIME {
            blocks.iter().for_each(|block| self.messages.set_prober(block.channel, index));
        } else {
            self.deferred_events
                .schedule(first.max(location.now), DeferredEvent::MatchWildcard { location: index, call: location.n_calls });
        }
        !blocks.is_empty()
    }

    /// Moves the block whose message arrives first to the front.
    pub(super) fn decide_wildcard(&mut self, location: &mut LocationState) {
        let blocks = self.candidate_blocks(location);
        let earliest = blocks.iter().filter_map(|block| Some((self.arrival_time(block)?, block))).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, block)) = earliest {
            location.move_to_front(block.first, block.end);
        }
    }

    /// Arrival time of the next message of the block's channel, if it was sent.
    fn arrival_time(&self, block: &WildcardBlock) -> Option<f64> {
        let message = self.messages.get(self.messages.peek(block.channel)?);
        // A rendezvous message is announced by an empty one.
        let announced = message.sent.simulated + self.message_costs[message.cost_id as usize].latency;
        Some(if message.arrival_time == UNKNOWN_TIME { announced } else { message.arrival_time })
    }

    /// The first block of each source, from the current call on.
    fn candidate_blocks(&self, location: &LocationState) -> Vec<WildcardBlock> {
        let mut found: Vec<WildcardBlock> = Vec::new();
        let mut from = location.next_record;
        while let Some(block) = location.block_at(from) {
            if !found.iter().any(|known| self.messages.sender(known.channel) == self.messages.sender(block.channel)) {
                found.push(block);
            }
            from = block.end;
        }
        found
    }
}

impl LocationState<'_> {
    /// The movable block that starts at a record, if any.
    fn block_at(&self, first: usize) -> Option<WildcardBlock> {
        let op = |record: usize| self.records.get(record).map(|record| self.compiled.ops[record.action as usize]);
        let CallOp::Receive { operand, request: false, any_source: true } = op(first)? else { return None };
        let channel = self.operands[operand as usize].id;
        let mut end = first + 1;
        let mut open = 0;
        loop {
            match op(end)? {
                CallOp::Receive { any_source: true, .. } if open == 0 => return Some(WildcardBlock { first, end, channel }),
                CallOp::Send { request, .. } => open += u64::from(request),
                CallOp::Complete { first, count } => {
                    let listed = &self.compiled.request_operands[first as usize..(first + count) as usize];
                    if !listed.iter().all(|listed| matches!(listed.request, Request::Relative(ago) if ago < open)) {
                        return None;
                    }
                    open = 0;
                }
                CallOp::Local | CallOp::Poll => {}
                _ if open == 0 => return Some(WildcardBlock { first, end, channel }),
                _ => return None,
            }
            end += 1;
        }
    }

    /// Moves records before the current one. The computation before the current call is already done, whichever call that is.
    fn move_to_front(&mut self, first: usize, end: usize) {
        if first <= self.next_record {
            return;
        }
        let (now, later) = self.records.split_at_mut(first);
        now[self.next_record].swap_computation(&mut later[0]);
        self.records[self.next_record..end].rotate_left(first - self.next_record);
    }
}
