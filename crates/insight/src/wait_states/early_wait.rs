//! Early wait: MPI_Win_wait is entered while the access epoch is still active.

use super::{DetectedWait, ExposureEpochWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "early_wait",
    name: "early wait",
    help: "A rank waited in MPI_Win_wait while another one was still accessing its window. Start the access epoch earlier, or compute \
           between MPI_Win_post and MPI_Win_wait (or poll with MPI_Win_test).",
    find: PatternMatcher::Exposure(find),
};

/// From entering the wait to the end of the last access, by the rank that completed last; the rest is late complete.
fn find(waits: &ExposureEpochWait) -> Option<DetectedWait> {
    DetectedWait::new(waits.call.wait_until(waits.last.accessed_until.min(waits.last.complete_enter)), waits.last.complete)
}
