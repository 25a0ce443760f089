//! Barrier completion: the time in a barrier after the first rank has left it.

use sintonia_mpi::CollectiveOp::Barrier;
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "barrier_completion",
    name: "barrier completion",
    help: "After all ranks had entered a barrier and the first had left it, some ranks needed longer to leave: oversubscribed cores, a \
           descheduled rank, or a slow network.",
    find: PatternMatcher::Collective(find),
};

/// From the first exit to the own exit.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && collective.instance.op == GroupOp::Collective(Barrier);
    applies.then(|| collective.completion())?
}
