//! Wait at free: MPI_Win_free waits for the last rank.

use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_free",
    name: "wait at window free",
    help: "Ranks waited for the last one in MPI_Win_free, which waits until all accesses to the window are complete. Free windows at the \
           end of the program, where the ranks synchronise anyway.",
    find: PatternMatcher::Collective(find),
};

/// From entering the call to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::WindowFree);
    applies.then(|| collective.wait_for_last())?
}
