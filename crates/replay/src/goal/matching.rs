//! Message matching: first come, first served.
//!
//! A receive with source and tag can only match in its channel, whose queue holds either messages or receives. Only ranks with wildcard
//! receives have lists that are searched.

use std::collections::VecDeque;

use sintonia_formats::goal::GoalSchedule;
use sintonia_formats::goal::graph::{ANY, GoalOpKind};

use super::op_queue::{OperationQueue, OperationState};

/// Unmatched messages and receives.
pub(super) struct GoalMatcher {
    /// By channel.
    queues: Vec<OperationQueue>,
    /// By rank with wildcard receives: unexpected messages and posted receives.
    wildcard_lists: Vec<Option<Box<[VecDeque<u32>; 2]>>>,
}

impl GoalMatcher {
    pub(super) fn new(goal: &GoalSchedule) -> GoalMatcher {
        let mut wildcard_lists = Vec::new();
        for channel in goal.channels().iter().filter(|channel| channel.source == ANY || channel.tag == ANY) {
            wildcard_lists.resize_with(goal.rank_count(), || None);
            wildcard_lists[channel.destination as usize] = Some(Box::default());
        }
        GoalMatcher { queues: vec![OperationQueue::EMPTY; goal.channels().len()], wildcard_lists }
    }

    /// Matches a new message or receive; `None` if it is queued.
    #[inline]
    pub(super) fn match_or_queue(
        &mut self,
        operation: u32,
        channel: usize,
        goal: &GoalSchedule,
        states: &mut [OperationState],
    ) -> Option<u32> {
        if !self.wildcard_lists.is_empty() {
            let list = self.wildcard_lists[goal.channels()[channel].destination as usize].as_deref_mut();
            if let Some(list) = list {
                return match_wildcard(operation, channel, goal, list);
            }
        }
        let queue = &mut self.queues[channel];
        let kind = goal.operations()[operation as usize].kind;
        let matched = queue.front().filter(|first| goal.operations()[*first as usize].kind != kind);
        *queue = if matched.is_some() { queue.without_front(states) } else { queue.with_back(operation, states) };
        matched
    }

    /// All unmatched operations, sorted.
    pub(super) fn unmatched(&self, states: &[OperationState]) -> Vec<u32> {
        let listed = self.wildcard_lists.iter().flatten().flat_map(|lists| lists.iter().flatten().copied());
        let mut unmatched: Vec<u32> = listed.collect();
        for mut queue in self.queues.iter().copied() {
            while let Some(operation) = queue.front() {
                unmatched.push(operation);
                queue = queue.without_front(states);
            }
        }
        unmatched.sort_unstable();
        unmatched
    }
}

fn match_wildcard(operation: u32, channel: usize, goal: &GoalSchedule, [messages, receives]: &mut [VecDeque<u32>; 2]) -> Option<u32> {
    let (own, others) = match goal.operations()[operation as usize].kind {
        GoalOpKind::Send => (messages, receives),
        GoalOpKind::Receive | GoalOpKind::Compute => (receives, messages),
    };
    let here = goal.channels()[channel];
    let channel_of = |other: &u32| goal.operations()[*other as usize].channel().map(|channel| goal.channels()[channel]);
    let found = others.iter().position(|other| channel_of(other).is_some_and(|there| here.matches(there)));
    if found.is_none() {
        own.push_back(operation);
    }
    found.and_then(|index| others.remove(index))
}
