//! Early reduce: the root of an N-to-1 collective waits for the other ranks, and inner ranks of its tree for theirs.

use sintonia_mpi::CollectiveOp::{Gather, Gatherv, Reduce};
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "early_reduce",
    name: "early reduce",
    help: "The root of MPI_Reduce or MPI_Gather waited for the last of the other ranks, or an inner rank of its tree for a rank below it (with \
           large messages also for the rank above it). Balance the preceding work, give the waiting ranks more of it, or let them compute \
           during MPI_Ireduce.",
    find: PatternMatcher::Collective(find),
};

/// From entering the operation to the entry of the last rank that the library's algorithm made it wait for; on the root, of the last rank.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let to_one = matches!(collective.instance.op, GroupOp::Collective(Reduce | Gather | Gatherv));
    if !collective.blocking || !to_one {
        return None;
    }
    match collective.dependency {
        Some(dependency) => collective.wait_for(dependency.last),
        None if collective.is_root => collective.wait_for_last(),
        None => None,
    }
}
