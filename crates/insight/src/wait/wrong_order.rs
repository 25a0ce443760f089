//! A receive that waits for its message although another one is there that is received later.

use sintonia_program::history::{At, Line};

use super::{Find, Pattern, Wait, late_sender};

pub const PATTERN: Pattern = Pattern {
    kind: "late_sender_wrong_order",
    name: "messages in wrong order",
    help: "A receive waited for its message while another message, received later, had already been sent. Receive in the order of sending, \
           or begin all receives first and take them as they come (MPI_Waitany, MPI_ANY_SOURCE).",
    find: Find::Again,
};

/// How many later messages are looked at: those further on would hardly have been taken instead.
const LOOKS_AHEAD: usize = 100;

/// The waits of a line with those for late senders split where a message was there that was received later: from then on, they are this.
pub fn split(line: &Line, waits: Vec<Wait>) -> Vec<Wait> {
    let taken: Vec<(u32, i64)> =
        line.received.iter().filter(|received| received.taken && received.sender != At::NOWHERE).map(|r| (r.row, r.send_enter)).collect();
    let mut all = Vec::with_capacity(waits.len());
    for wait in waits {
        let late = wait.pattern.kind == late_sender::PATTERN.kind;
        let after = taken.partition_point(|(row, _)| *row <= wait.row);
        let ahead = &taken[after..taken.len().min(after + LOOKS_AHEAD)];
        let there = ahead.iter().map(|(_, sent)| *sent).min().filter(|_| late);
        let before = there.map_or(wait.ns, |there| (there - line.calls.enter[wait.row as usize]).clamp(0, wait.ns));
        let parts = [(wait.pattern, before), (&PATTERN, wait.ns - before)];
        all.extend(parts.into_iter().filter(|(_, ns)| *ns > 0).map(|(pattern, ns)| Wait { pattern, ns, ..wait }));
    }
    all
}
