//! No progress: a send waits although the receive is posted, because the receiver does not call MPI.

use super::{DetectedWait, PatternMatcher, SendCompletion, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "no_progress",
    name: "no progress at the receiver",
    help: "A send (or the wait that completes one) could not complete although the receive was posted: most libraries transfer a large message \
           only while the receiver is in an MPI call, and it computed. Call MPI_Test during the computation, or enable the library's progress \
           thread.",
    find: PatternMatcher::Send(find),
};

/// From entering the completing call to the first call of the receiver after the receive was posted and the message sent; 0 if the send
/// completed before that. If the call also completed receives, it may have waited for those.
fn find(send: &SendCompletion) -> Option<DetectedWait> {
    let begun = send.sent.progress_enter;
    if send.receives || send.call.leave() <= begun {
        return None;
    }
    DetectedWait::new(begun - send.call.enter(), send.sent.progress())
}
