//! Late broadcast: ranks wait for the root of a 1-to-N collective, or for a rank between it and them.

use sintonia_mpi::CollectiveOp::{Broadcast, Scatter, Scatterv};
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_broadcast",
    name: "late broadcast",
    help: "Ranks waited in MPI_Bcast or MPI_Scatter for the root, which provides the data, or for an inner rank of the tree that forwards it \
           (with large messages also for a rank that receives it). Let the late rank enter earlier, give it less other work, or use a \
           nonblocking collective and compute what does not need the data.",
    find: PatternMatcher::Collective(find),
};

/// From entering the operation to the entry of the last rank that the library's algorithm made it wait for; else to the root's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let from_one = matches!(collective.instance.op, GroupOp::Collective(Broadcast | Scatter | Scatterv));
    if !collective.blocking || !from_one {
        return None;
    }
    match collective.dependency {
        Some(dependency) => collective.wait_for(dependency.last),
        None if !collective.is_root => collective.wait_for(collective.instance.root),
        None => None,
    }
}
