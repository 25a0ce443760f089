//! Completion of a nonblocking or persistent collective that other ranks started late.

use sintonia_mpi::CollectiveOp::{Broadcast, Exscan, Gather, Gatherv, Reduce, Scan, Scatter, Scatterv};
use sintonia_program::history::is_neighbourhood_op;
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_nonblocking_collective",
    name: "late start of collective",
    help: "A wait for a nonblocking collective (MPI_Iallreduce, MPI_Ibcast ...) was entered before all ranks it depends on had started the \
           collective. Start it earlier on the late ranks, or compute more between start and wait.",
    find: PatternMatcher::Collective(find),
};

/// From entering the wait to the start of the operation by the last rank it depends on.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    if collective.blocking || is_neighbourhood_op(collective.instance.op) {
        return None;
    }
    let needed = match collective.instance.op {
        GroupOp::Collective(Broadcast | Scatter | Scatterv | Reduce | Gather | Gatherv) if collective.dependency.is_some() => {
            collective.dependency?.last
        }
        GroupOp::Collective(Broadcast | Scatter | Scatterv) if collective.is_root => return None,
        GroupOp::Collective(Broadcast | Scatter | Scatterv) => collective.instance.root,
        GroupOp::Collective(Reduce | Gather | Gatherv) if !collective.is_root => return None,
        GroupOp::Collective(Scan | Exscan) => collective.dependency?.last,
        GroupOp::Collective(_) | GroupOp::CommunicatorCreate | GroupOp::FileAccess => collective.instance.last,
        _ => return None,
    };
    collective.wait_for(needed)
}
