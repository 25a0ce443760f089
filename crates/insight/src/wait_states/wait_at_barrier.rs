//! Wait at barrier: ranks wait for the last one to enter.

use sintonia_mpi::CollectiveOp::Barrier;
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_barrier",
    name: "wait at barrier",
    help: "Ranks waited in a barrier for the last one to enter. If the barrier only separates phases, try to remove it: most programs are \
           correct without. Otherwise look at what the last rank did before: it had more work, or was delayed itself.",
    find: PatternMatcher::Collective(find),
};

/// From entering the barrier to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && collective.instance.op == GroupOp::Collective(Barrier);
    applies.then(|| collective.wait_for_last())?
}
