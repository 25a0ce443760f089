//! The names of the operations that have algorithms: those of MPI, without its prefix.

use sintonia_mpi::Pattern;

/// The name of an operation.
pub const fn name(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Barrier => "barrier",
        Pattern::Broadcast => "bcast",
        Pattern::Reduce => "reduce",
        Pattern::Allreduce => "allreduce",
        Pattern::Gather => "gather",
        Pattern::Gatherv => "gatherv",
        Pattern::Scatter => "scatter",
        Pattern::Scatterv => "scatterv",
        Pattern::Allgather => "allgather",
        Pattern::Allgatherv => "allgatherv",
        Pattern::Alltoall => "alltoall",
        Pattern::Alltoallv => "alltoallv",
        Pattern::Alltoallw => "alltoallw",
        Pattern::ReduceScatter => "reduce_scatter",
        Pattern::ReduceScatterBlock => "reduce_scatter_block",
        Pattern::Scan => "scan",
        Pattern::Exscan => "exscan",
        Pattern::NeighborAllgather => "neighbor_allgather",
        Pattern::NeighborAllgatherv => "neighbor_allgatherv",
        Pattern::NeighborAlltoall => "neighbor_alltoall",
        Pattern::NeighborAlltoallv => "neighbor_alltoallv",
        Pattern::NeighborAlltoallw => "neighbor_alltoallw",
    }
}

/// Those whose algorithms can be chosen: all but the ones among neighbours.
pub fn all() -> impl Iterator<Item = Pattern> {
    Pattern::ALL.into_iter().filter(|pattern| !pattern.is_among_neighbours())
}

/// The operation of this name, if its algorithm can be chosen.
pub fn named(text: &str) -> Option<Pattern> {
    all().find(|pattern| name(*pattern) == text)
}
