//! Early reduce: the root of an N-to-1 collective waits for the other ranks.

use sintonia_mpi::CollectiveOp::{Gather, Gatherv, Reduce};
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "early_reduce",
    name: "early reduce",
    help: "The root of MPI_Reduce or MPI_Gather waited for the last of the other ranks. Balance the preceding work, give the root more of \
           it, or let it compute during MPI_Ireduce.",
    find: PatternMatcher::Collective(find),
};

/// On the root: from entering the operation to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let to_one = matches!(collective.instance.op, GroupOp::Collective(Reduce | Gather | Gatherv));
    if collective.blocking && collective.is_root && to_one { collective.wait_for_last() } else { None }
}
