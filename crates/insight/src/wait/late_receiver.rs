//! A send that waits for its receive to begin.

use super::{Find, Found, Pattern, Sending};

pub const PATTERN: Pattern = Pattern {
    kind: "late_receiver",
    name: "late receiver",
    help: "A send (or the wait that completes one) could not complete because the receive had not begun: large and synchronous messages \
           are not buffered. Begin the receive earlier (MPI_Irecv), or send with MPI_Isend and compute until it is done.",
    find: Find::Send(find),
};

/// From entering the completing call to beginning the receive; nothing if the send was complete before that, and where the same call waited
/// for a message, that wait counts.
fn find(sending: &Sending) -> Option<Found> {
    let begun = sending.sent.posted_enter;
    if sending.receives_late || sending.scene.leave() <= begun {
        return None;
    }
    Found::some(begun - sending.scene.enter(), sending.sent.posted)
}
