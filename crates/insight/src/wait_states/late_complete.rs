//! Late complete: the access epoch ends long after its last access.

use super::{DetectedWait, ExposureEpochWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_complete",
    name: "late complete",
    help: "A rank waited in MPI_Win_wait for another one that had finished its last access to the window, but did other work before it \
           called MPI_Win_complete. Call MPI_Win_complete right after the last access.",
    find: PatternMatcher::Exposure(find),
};

/// From entering the wait to MPI_Win_complete; the time until the last access counts as early wait.
fn find(waits: &ExposureEpochWait) -> Option<DetectedWait> {
    DetectedWait::new(waits.call.wait_until(waits.last.complete_enter), waits.last.complete)
}
