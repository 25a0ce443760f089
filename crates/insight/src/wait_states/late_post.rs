//! Late post: an access epoch waits for the exposure epoch of its target.

use super::{AccessEpochCall, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_post",
    name: "late post",
    help: "A rank waited to access the window of another one that had not called MPI_Win_post yet. Where it waits depends on the MPI \
           library: in MPI_Win_start, at the first access or in MPI_Win_complete. Post windows earlier (MPI_Win_post does not block), or \
           give the origin something to compute before MPI_Win_start.",
    find: PatternMatcher::Access(find),
};

/// From entering the call in progress at the time of the post, to the post.
fn find(access_call: &AccessEpochCall) -> Option<DetectedWait> {
    DetectedWait::new(access_call.call.wait_until(access_call.access.post_enter), access_call.access.post)
}
