//! Late sender, wrong order: a receive waits although a message that is received later has already been sent.

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
    for wait in waits {
        let late = wait.pattern.kind == late_sender::PATTERN.kind;
        let after = taken.partition_point(|(row, _)| *row <= wait.row);
        let ahead = &taken[after..taken.len().min(after + MAX_LOOKAHEAD)];
        let there = ahead.iter().map(|(_, sent)| *sent).min().filter(|_| late);
        let before = there.map_or(wait.ns, |there| (there - location.calls.enter[wait.row as usize]).clamp(0, wait.ns));
        let parts = [(wait.pattern, before), (&PATTERN, wait.ns - before)];
        all.extend(parts.into_iter().filter(|(_, ns)| *ns > 0).map(|(pattern, ns)| WaitInstance { pattern, ns, ..wait }));
    }
    all
}
