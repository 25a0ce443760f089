//! Wait at fence: MPI_Win_fence waits for the last rank.

use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_fence",
    name: "wait at fence",
    help: "Ranks waited in MPI_Win_fence for the last one to enter. A fence synchronises all ranks: if a rank communicates with a few \
           others only, MPI_Win_post and MPI_Win_start, or locks, wait for those only.",
    find: PatternMatcher::Collective(find),
};

/// From entering the call to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::Fence);
    applies.then(|| collective.wait_for_last())?
}
