//! Late sender: a receive waits for the message to be sent.

use super::{DetectedWait, PatternMatcher, ReceiveCompletion, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_sender",
    name: "late sender",
    help: "A receive (or the wait that completes one) was entered before the message was sent, and blocked until it was. Look at what the \
           sender did before: if it computes longer than the receiver, the load is imbalanced; if it does other work first, send earlier, \
           or receive later and compute in between.",
    find: PatternMatcher::Receives(find),
};

/// From entering the receive to entering the send; if one call completes several messages, the last one counts.
fn find(receive: &ReceiveCompletion) -> Option<DetectedWait> {
    let last = receive.last().filter(|last| !last.partitioned)?;
    DetectedWait::new(receive.call.wait_until(last.send_enter), last.sender)
}
