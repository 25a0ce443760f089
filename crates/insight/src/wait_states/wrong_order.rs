//! Late sender, wrong order: a receive waits although a message that is received later has already been sent.

use std::collections::VecDeque;

use sintonia_program::history::{CallId, Location};

use super::{PatternMatcher, WaitInstance, WaitPattern, late_sender};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_sender_wrong_order",
    name: "late sender, wrong order",
    help: "A receive waited for its message while another message, received later, had already been sent. Receive in send order, or post \
           all receives first and process them as they complete (MPI_Waitany, MPI_ANY_SOURCE).",
    find: PatternMatcher::PostProcess,
};

/// Maximum number of later messages considered: those further ahead would hardly have been received instead.
const MAX_LOOKAHEAD: usize = 100;

/// Splits late-sender waits at the time at which a later message was available: the rest is wrong order.
pub(super) fn split_wrong_order(location: &Location, waits: Vec<WaitInstance>) -> Vec<WaitInstance> {
    let taken: Vec<(u32, i64)> = location
        .received
        .iter()
        .filter(|received| received.consumed && received.sender != CallId::NONE)
        .map(|r| (r.row, r.send_enter))
        .collect();
    let mut all = Vec::with_capacity(waits.len());
    let mut earliest = EarliestAhead::new(&taken);
    for wait in waits {
        let late = wait.pattern.kind == late_sender::PATTERN.kind;
        let there = if late { earliest.sent_after(wait.row) } else { None };
        let before = there.map_or(wait.ns, |there| (there - location.calls.enter[wait.row as usize]).clamp(0, wait.ns));
        let parts = [(wait.pattern, before), (&PATTERN, wait.ns - before)];
        all.extend(parts.into_iter().filter(|(_, ns)| *ns > 0).map(|(pattern, ns)| WaitInstance { pattern, ns, ..wait }));
    }
    all.shrink_to_fit();
    all
}

/// The earliest send among the next messages, for increasing rows (the minimum of a sliding window).
struct EarliestAhead<'a> {
    /// Rows of received messages, and when each message was sent.
    taken: &'a [(u32, i64)],
    /// Index of the first message after the window.
    end: usize,
    /// Indices of the messages in the window that were sent before all messages after them.
    candidates: VecDeque<usize>,
}

impl<'a> EarliestAhead<'a> {
    fn new(taken: &'a [(u32, i64)]) -> EarliestAhead<'a> {
        EarliestAhead { taken, end: 0, candidates: VecDeque::new() }
    }

    /// When the earliest of the [`MAX_LOOKAHEAD`] messages received after a row was sent.
    fn sent_after(&mut self, row: u32) -> Option<i64> {
        let first = self.taken.partition_point(|(taken, _)| *taken <= row);
        let end = self.taken.len().min(first + MAX_LOOKAHEAD);
        for index in self.end.max(first)..end {
            while self.candidates.back().is_some_and(|last| self.taken[*last].1 >= self.taken[index].1) {
                self.candidates.pop_back();
            }
            self.candidates.push_back(index);
        }
        self.end = end;
        while self.candidates.front().is_some_and(|candidate| *candidate < first) {
            self.candidates.pop_front();
        }
        self.candidates.front().map(|candidate| self.taken[*candidate].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_of_the_next_messages_is_found() {
        // Send times that go up and down; every third message is received by the same call as the one before.
        let taken: Vec<(u32, i64)> = (0..1000_u32).map(|index| (index - index / 3, i64::from(index * 7919 % 1009))).collect();
        let mut earliest = EarliestAhead::new(&taken);
        for row in (0..700).filter(|row| row % 5 != 0) {
            let ahead = taken.iter().filter(|(taken, _)| *taken > row).take(MAX_LOOKAHEAD);
            assert_eq!(earliest.sent_after(row), ahead.map(|(_, sent)| *sent).min(), "after row {row}");
        }
    }
}
