//! Wait at MPI_Finalize: ranks wait for the last one to finish.

use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_finalize",
    name: "wait at MPI_Finalize",
    help: "Ranks had finished and waited in MPI_Finalize for the last one. The work at the end of the program is imbalanced.",
    find: PatternMatcher::Collective(find),
};

/// From entering the call to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::Finalize);
    applies.then(|| collective.wait_for_last())?
}
