//! A receive that waits for its message although another one is there that is received later.

use sintonia_program::history::{At, Line};

use super::{Find, Found, Pattern, Wait, late_sender};

pub const PATTERN: Pattern = Pattern {
    kind: "late_sender_wrong_order",
    name: "messages in wrong order",
    help: "A receive waited for its message while another message, received later, had already been sent. Receive in the order of sending, \
           or begin all receives first and take them as they come (MPI_Waitany, MPI_ANY_SOURCE).",
    find: Find::Again,
};

/// How many later messages are looked at: those further on would hardly have been taken instead.
const LOOKS_AHEAD: usize = 100;

/// Of the waits for late senders, the part in which a message was there that was received later.
pub fn find_again(line: &Line, waits: &mut Vec<Wait>) {
    let taken: Vec<(u32, i64)> =
        line.received.iter().filter(|received| received.taken && received.sender != At::NOWHERE).map(|r| (r.row, r.send_enter)).collect();
    let mut found = Vec::new();
    for wait in waits.iter_mut().filter(|wait| wait.pattern.kind == late_sender::PATTERN.kind) {
        let after = taken.partition_point(|(row, _)| *row <= wait.row);
        let enter = line.calls.enter[wait.row as usize];
        let ahead = &taken[after..taken.len().min(after + LOOKS_AHEAD)];
        let Some(first) = ahead.iter().map(|(_, sent)| (*sent).max(enter)).min() else { continue };
        if let Some(Found { ns, cause }) = Found::some(enter + wait.ns - first, wait.cause) {
            wait.ns -= ns;
            found.push(Wait { pattern: &super::PATTERNS[1], row: wait.row, ns, cause });
        }
    }
    waits.retain(|wait| wait.ns > 0);
    waits.extend(found);
    waits.sort_by_key(|wait| wait.row);
}
