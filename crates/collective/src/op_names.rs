//! Names of collectives: those of MPI without the prefix.

use sintonia_mpi::CollectiveOp;

/// Name of a collective.
pub const fn name(op: CollectiveOp) -> &'static str {
    match op {
        CollectiveOp::Barrier => "barrier",
        CollectiveOp::Broadcast => "bcast",
        CollectiveOp::Reduce => "reduce",
        CollectiveOp::Allreduce => "allreduce",
        CollectiveOp::Gather => "gather",
        CollectiveOp::Gatherv => "gatherv",
        CollectiveOp::Scatter => "scatter",
        CollectiveOp::Scatterv => "scatterv",
        CollectiveOp::Allgather => "allgather",
        CollectiveOp::Allgatherv => "allgatherv",
        CollectiveOp::Alltoall => "alltoall",
        CollectiveOp::Alltoallv => "alltoallv",
        CollectiveOp::Alltoallw => "alltoallw",
        CollectiveOp::ReduceScatter => "reduce_scatter",
        CollectiveOp::ReduceScatterBlock => "reduce_scatter_block",
        CollectiveOp::Scan => "scan",
        CollectiveOp::Exscan => "exscan",
        CollectiveOp::NeighborAllgather => "neighbor_allgather",
        CollectiveOp::NeighborAllgatherv => "neighbor_allgatherv",
        CollectiveOp::NeighborAlltoall => "neighbor_alltoall",
        CollectiveOp::NeighborAlltoallv => "neighbor_alltoallv",
        CollectiveOp::NeighborAlltoallw => "neighbor_alltoallw",
    }
}

/// Collectives with selectable algorithms: all but neighbourhood collectives.
pub fn selectable_ops() -> impl Iterator<Item = CollectiveOp> {
    CollectiveOp::ALL.into_iter().filter(|op| !op.is_neighborhood())
}

/// The collective of this name, if its algorithm is selectable.
pub fn from_name(text: &str) -> Option<CollectiveOp> {
    selectable_ops().find(|op| name(*op) == text)
}
