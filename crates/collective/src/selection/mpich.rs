//! Selection rules of MPICH. Source: MPICH v4.3.2, `maint/tuning/coll/mpir/generic.json` (same thresholds as v4.0.3); node-aware algorithms
//! (`*_intra_smp`) are not modelled.

use std::num::NonZeroU64;

use sintonia_mpi::CollectiveOp;

use super::elements;
use crate::algorithm::{CollectiveAlgorithm, FoldMode, TreeShape};

/// Largest broadcast sent unsplit along a tree.
const SHORT_BROADCAST: u64 = 12_288;
/// Largest broadcast with a recursive-doubling allgather.
const MEDIUM_BROADCAST: u64 = 524_288;
/// Smaller groups always broadcast along a tree.
const MIN_SCATTER_MEMBERS: u32 = 8;
/// Up to this many ranks, alltoall never uses Bruck. The rules say fewer than 8, but `src/mpi/coll/src/csel.c` compares with `<=` in a rule
/// that follows a call-dependent one.
const MAX_DIRECT_ALLTOALL: u32 = 8;
/// Segment size of a large allgatherv: default of `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`.
const ALLGATHERV_SEGMENT: NonZeroU64 = NonZeroU64::new(32_768).expect("not zero");
/// Largest allreduce that always uses recursive doubling.
const SHORT_ALLREDUCE: u64 = 8;
/// Largest reduction sent unsplit along a tree.
const SHORT_REDUCE: u64 = 2_048;
/// From this total size on, power-of-two groups gather around a ring; others from [`SHORT_ALLGATHER`] on.
const LONG_ALLGATHER: u64 = 524_288;
/// As [`LONG_ALLGATHER`], for groups that are not a power of two.
const SHORT_ALLGATHER: u64 = 81_920;
/// From this total size on, reduce-scatter is pairwise.
const LONG_REDUCE_SCATTER: u64 = 524_288;
/// Largest alltoall block for Bruck.
const SHORT_ALLTOALL: u64 = 256;
/// Largest alltoall block sent concurrently with others.
const MEDIUM_ALLTOALL: u64 = 32_768;

/// See [`super::choose_algorithm`].
pub(super) fn choose_algorithm(op: CollectiveOp, members: u32, bytes: u64) -> Option<CollectiveAlgorithm> {
    let total = bytes.saturating_mul(members.into());
    Some(match op {
        CollectiveOp::Barrier => CollectiveAlgorithm::Dissemination,
        CollectiveOp::Broadcast => broadcast(members, bytes),
        CollectiveOp::Allreduce if bytes <= SHORT_ALLREDUCE || is_shorter_than_power_of_two(members, bytes) => {
            CollectiveAlgorithm::RecursiveDoubling
        }
        CollectiveOp::Allreduce => CollectiveAlgorithm::Rabenseifner(FoldMode::Whole),
        CollectiveOp::Reduce if bytes <= SHORT_REDUCE || is_shorter_than_power_of_two(members, bytes) => {
            CollectiveAlgorithm::tree(TreeShape::Binomial)
        }
        CollectiveOp::Reduce => CollectiveAlgorithm::Rabenseifner(FoldMode::Whole),
        CollectiveOp::Gather | CollectiveOp::Scatter => CollectiveAlgorithm::tree(TreeShape::Binomial),
        CollectiveOp::Gatherv | CollectiveOp::Scatterv => CollectiveAlgorithm::tree(TreeShape::Linear),
        CollectiveOp::Allgather | CollectiveOp::Allgatherv => match members.is_power_of_two() {
            true if total < LONG_ALLGATHER => CollectiveAlgorithm::RecursiveDoubling,
            false if total < SHORT_ALLGATHER => CollectiveAlgorithm::Bruck,
            _ => {
                let is_cut = op == CollectiveOp::Allgatherv && bytes > ALLGATHERV_SEGMENT.get();
                CollectiveAlgorithm::Ring { segment: is_cut.then_some(ALLGATHERV_SEGMENT) }
            }
        },
        CollectiveOp::Alltoall if members > MAX_DIRECT_ALLTOALL && bytes <= SHORT_ALLTOALL => CollectiveAlgorithm::Bruck,
        CollectiveOp::Alltoall if bytes > MEDIUM_ALLTOALL => CollectiveAlgorithm::Pairwise,
        CollectiveOp::Alltoall | CollectiveOp::Alltoallv | CollectiveOp::Alltoallw => CollectiveAlgorithm::Scattered,
        CollectiveOp::ReduceScatter | CollectiveOp::ReduceScatterBlock if total < LONG_REDUCE_SCATTER => {
            CollectiveAlgorithm::RecursiveHalving
        }
        CollectiveOp::ReduceScatter | CollectiveOp::ReduceScatterBlock => CollectiveAlgorithm::Pairwise,
        CollectiveOp::Scan | CollectiveOp::Exscan => CollectiveAlgorithm::RecursiveDoubling,
        CollectiveOp::NeighborAllgather
        | CollectiveOp::NeighborAllgatherv
        | CollectiveOp::NeighborAlltoall
        | CollectiveOp::NeighborAlltoallv
        | CollectiveOp::NeighborAlltoallw => return None,
    })
}

fn broadcast(members: u32, bytes: u64) -> CollectiveAlgorithm {
    if members < MIN_SCATTER_MEMBERS || bytes <= SHORT_BROADCAST {
        CollectiveAlgorithm::tree(TreeShape::Binomial)
    } else if members.is_power_of_two() && bytes <= MEDIUM_BROADCAST {
        CollectiveAlgorithm::ScatterAllgather
    } else {
        CollectiveAlgorithm::ScatterRing
    }
}

/// Whether there are fewer elements than ranks in the largest power of two, so that some would get none.
fn is_shorter_than_power_of_two(members: u32, bytes: u64) -> bool {
    elements(bytes) < 1 << members.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_vectors_use_different_algorithms() {
        let name = |op, members, bytes| choose_algorithm(op, members, bytes).unwrap().to_string();
        assert_eq!(name(CollectiveOp::Broadcast, 64, 12_288), "binomial");
        assert_eq!(name(CollectiveOp::Broadcast, 64, 12_289), "scatter_allgather");
        assert_eq!(name(CollectiveOp::Broadcast, 63, 12_289), "scatter_ring");
        assert_eq!(name(CollectiveOp::Broadcast, 64, 524_289), "scatter_ring");
        assert_eq!(name(CollectiveOp::Broadcast, 7, 1 << 30), "binomial");
        assert_eq!(name(CollectiveOp::Allreduce, 64, 8), "recursive_doubling");
        assert_eq!(name(CollectiveOp::Allreduce, 64, 63 * 8), "recursive_doubling");
        assert_eq!(name(CollectiveOp::Allreduce, 64, 64 * 8), "rabenseifner");
        assert_eq!(name(CollectiveOp::Reduce, 16, 2_048), "binomial");
        assert_eq!(name(CollectiveOp::Reduce, 16, 2_049), "rabenseifner");
        assert_eq!(name(CollectiveOp::Alltoall, 9, 256), "bruck");
        assert_eq!(name(CollectiveOp::Alltoall, 8, 256), "scattered");
        assert_eq!(name(CollectiveOp::Alltoall, 8, 32_768), "scattered");
        assert_eq!(name(CollectiveOp::Alltoall, 8, 32_769), "pairwise");
        assert_eq!(name(CollectiveOp::Allgather, 8, 65_535), "recursive_doubling");
        assert_eq!(name(CollectiveOp::Allgather, 8, 65_536), "ring");
        assert_eq!(name(CollectiveOp::Allgatherv, 10, 8_191), "bruck");
        assert_eq!(name(CollectiveOp::Allgatherv, 10, 8_192), "ring");
        assert_eq!(name(CollectiveOp::Allgatherv, 10, 32_769), "ring:32768");
        assert_eq!(name(CollectiveOp::Allgather, 10, 32_769), "ring");
        assert_eq!(name(CollectiveOp::ReduceScatter, 16, 32_767), "recursive_halving");
        assert_eq!(name(CollectiveOp::ReduceScatterBlock, 16, 32_768), "pairwise");
    }
}
