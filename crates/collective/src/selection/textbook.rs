//! One common algorithm per collective, whatever the group size and the message size.

use sintonia_mpi::CollectiveOp;

use crate::algorithm::{CollectiveAlgorithm, TreeShape};

/// See [`super::choose_algorithm`].
pub(super) const fn choose_algorithm(op: CollectiveOp) -> Option<CollectiveAlgorithm> {
    use CollectiveOp::*;
    Some(match op {
        Barrier => CollectiveAlgorithm::Dissemination,
        Broadcast | Reduce | Gather | Scatter => CollectiveAlgorithm::tree(TreeShape::Binomial),
        Gatherv | Scatterv => CollectiveAlgorithm::tree(TreeShape::Linear),
        Allreduce => CollectiveAlgorithm::RecursiveDoubling,
        Allgather | Allgatherv => CollectiveAlgorithm::Ring { segment: None },
        Alltoall | Alltoallv | Alltoallw | ReduceScatter | ReduceScatterBlock => CollectiveAlgorithm::Pairwise,
        Scan | Exscan => CollectiveAlgorithm::tree(TreeShape::Chain),
        NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw => return None,
    })
}
