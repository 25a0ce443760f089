//! Wait at a neighbourhood collective, in which a rank depends on its neighbours only.

use sintonia_program::history::is_neighbourhood_op;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_neighbour_collective",
    name: "wait at neighbours",
    help: "A rank waited in a neighbourhood collective (MPI_Neighbor_alltoall, MPI_Neighbor_allgather and similar, or the wait for a \
           nonblocking one) for the last neighbour that sends to it. Balance the work of neighbours, or start a nonblocking collective \
           (MPI_Ineighbor_alltoall) and compute the interior of the domain before waiting for it.",
    find: PatternMatcher::Collective(find),
};

/// From entering the operation, or the wait for it, to the entry of the last neighbour that sends to the rank.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let last = collective.dependency.filter(|_| is_neighbourhood_op(collective.instance.op))?.last;
    collective.wait_for(last)
}
