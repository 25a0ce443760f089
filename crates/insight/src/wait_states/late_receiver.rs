//! Late receiver: a send waits for the receive to be posted.

use super::{DetectedWait, PatternMatcher, SendCompletion, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_receiver",
    name: "late receiver",
    help: "A send (or the wait that completes one) could not complete because the receive had not been posted: large and synchronous \
           messages are not buffered. Post the receive earlier (MPI_Irecv), or send with MPI_Isend and compute until it completes.",
    find: PatternMatcher::Send(find),
};

/// From entering the completing call to the post of the receive; 0 if the send completed before that. If the call also waited for a
/// message, that wait counts instead.
fn find(send: &SendCompletion) -> Option<DetectedWait> {
    let begun = send.sent.posted_enter;
    if send.receives_late || send.call.leave() <= begun {
        return None;
    }
    DetectedWait::new(begun - send.call.enter(), send.sent.posted())
}
