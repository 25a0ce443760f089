//! Wait at N-to-N: every rank depends on all others.

use sintonia_mpi::CollectiveOp::{
    self as Collective, Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, ReduceScatter, ReduceScatterBlock,
};
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_nxn",
    name: "wait at N-to-N",
    help: "Ranks waited in an N-to-N collective, in which every rank needs data of all others (MPI_Allreduce, MPI_Allgather, MPI_Alltoall \
           and similar), for the last one to enter. Look at what the last rank did before; or start the collective early (MPI_Iallreduce) \
           and compute what does not need its result.",
    find: PatternMatcher::Collective(find),
};

/// From entering the operation to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::Collective(pattern) if is_nxn(pattern));
    applies.then(|| collective.wait_for_last())?
}

/// Whether every rank needs data of all others; a barrier, which moves no data, is a separate pattern.
pub(super) fn is_nxn(pattern: Collective) -> bool {
    matches!(pattern, Allreduce | Allgather | Allgatherv | Alltoall | Alltoallv | Alltoallw | ReduceScatter | ReduceScatterBlock)
}
