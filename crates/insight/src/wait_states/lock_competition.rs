//! Lock competition: a lock is held by another rank.

use super::{DetectedWait, LockEpochCall, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "lock_competition",
    name: "lock competition",
    help: "A rank waited for the lock of a window while another one held it. Where it waits depends on the MPI library: in MPI_Win_lock, \
           at an access, in MPI_Win_flush or in MPI_Win_unlock. Hold locks briefly, use shared locks where accesses do not conflict \
           (MPI_LOCK_SHARED, MPI_Accumulate), or distribute the data over several windows or ranks.",
    find: PatternMatcher::Lock(find),
};

/// From entering the call to the exit of the previous holder's unlock, which also completes the pending accesses.
fn find(lock_call: &LockEpochCall) -> Option<DetectedWait> {
    DetectedWait::new(lock_call.call.wait_until(lock_call.lock.previous_span.1), lock_call.lock.previous)
}
