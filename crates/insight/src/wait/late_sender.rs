//! A receive that waits for its message to be sent.

use super::{Find, Found, Pattern, Receives};

pub const PATTERN: Pattern = Pattern {
    kind: "late_sender",
    name: "late sender",
    help: "A receive (or the wait that completes one) was entered before the message was sent, and did nothing until it was. Look at what \
           the sender did before: if it computes longer than the receiver, the work is unevenly shared; if it does other things first, \
           send earlier, or receive later and compute in between.",
    find: Find::Receives(find),
};

/// From entering the receive to entering the send; of several messages that one call completes, the last one counts.
fn find(receives: &Receives) -> Option<Found> {
    let last = receives.last().filter(|last| !last.partitioned)?;
    Found::some(receives.scene.until(last.send_enter), last.sender)
}
