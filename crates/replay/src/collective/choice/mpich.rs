//! What MPICH takes. Source: MPICH v4.3.2, `maint/tuning/coll/mpir/generic.json`, with the thresholds that v4.0.3 has too; ways by nodes
//! (`*_intra_smp`) are left aside.

use std::num::NonZeroU64;

use sintonia_mpi::Pattern;

use super::elements;
use crate::collective::algorithm::{Algorithm, Folding, Shape};

/// The largest broadcast that goes whole along a tree.
const SHORT_BROADCAST: u64 = 12_288;
/// The largest broadcast whose parts are exchanged by recursive doubling.
const MEDIUM_BROADCAST: u64 = 524_288;
/// Fewer members always broadcast along a tree.
const FEW: u32 = 8;
/// Up to so many members never send blocks of an alltoall in several steps. The rules say fewer than 8, but where a rule comes after another
/// one that needs the call, `src/mpi/coll/src/csel.c` compares with `<=`; the library does as it says.
const FEW_FOR_ALLTOALL: u32 = 8;
/// Larger blocks of an allgatherv go around in pieces of this size: the default of `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`.
const PIECE_OF_ALLGATHERV: NonZeroU64 = NonZeroU64::new(32_768).expect("not zero");
/// The largest allreduce in which everyone always combines whole vectors.
const SHORT_ALLREDUCE: u64 = 8;
/// The largest reduction that goes whole along a tree.
const SHORT_REDUCE: u64 = 2_048;
/// From so many bytes of all members together, a power of two of them gathers around a ring; others from [`SHORT_ALLGATHER`] on.
const LONG_ALLGATHER: u64 = 524_288;
/// As [`LONG_ALLGATHER`], without a power of two.
const SHORT_ALLGATHER: u64 = 81_920;
/// From so many bytes of all members together, blocks are reduced member by member.
const LONG_REDUCE_SCATTER: u64 = 524_288;
/// The largest block of an alltoall that is sent in several steps.
const SHORT_ALLTOALL: u64 = 256;
/// The largest block of an alltoall that is sent with others at the same time.
const MEDIUM_ALLTOALL: u64 = 32_768;

/// See [`super::choose`].
pub fn choose(pattern: Pattern, members: u32, bytes: u64) -> Option<Algorithm> {
    let total = bytes.saturating_mul(members.into());
    Some(match pattern {
        Pattern::Barrier => Algorithm::Dissemination,
        Pattern::Broadcast => broadcast(members, bytes),
        Pattern::Allreduce if bytes <= SHORT_ALLREDUCE || is_short_for_parts(members, bytes) => Algorithm::RecursiveDoubling,
        Pattern::Allreduce => Algorithm::Rabenseifner(Folding::Whole),
        Pattern::Reduce if bytes <= SHORT_REDUCE || is_short_for_parts(members, bytes) => Algorithm::tree(Shape::Binomial),
        Pattern::Reduce => Algorithm::Rabenseifner(Folding::Whole),
        Pattern::Gather | Pattern::Scatter => Algorithm::tree(Shape::Binomial),
        Pattern::Gatherv | Pattern::Scatterv => Algorithm::tree(Shape::Linear),
        Pattern::Allgather | Pattern::Allgatherv => match members.is_power_of_two() {
            true if total < LONG_ALLGATHER => Algorithm::RecursiveDoubling,
            false if total < SHORT_ALLGATHER => Algorithm::Bruck,
            _ => {
                let is_cut = pattern == Pattern::Allgatherv && bytes > PIECE_OF_ALLGATHERV.get();
                Algorithm::Ring { segment: is_cut.then_some(PIECE_OF_ALLGATHERV) }
            }
        },
        Pattern::Alltoall if members > FEW_FOR_ALLTOALL && bytes <= SHORT_ALLTOALL => Algorithm::Bruck,
        Pattern::Alltoall if bytes > MEDIUM_ALLTOALL => Algorithm::Pairwise,
        Pattern::Alltoall | Pattern::Alltoallv | Pattern::Alltoallw => Algorithm::Scattered,
        Pattern::ReduceScatter | Pattern::ReduceScatterBlock if total < LONG_REDUCE_SCATTER => Algorithm::RecursiveHalving,
        Pattern::ReduceScatter | Pattern::ReduceScatterBlock => Algorithm::Pairwise,
        Pattern::Scan | Pattern::Exscan => Algorithm::RecursiveDoubling,
        Pattern::NeighborAllgather
        | Pattern::NeighborAllgatherv
        | Pattern::NeighborAlltoall
        | Pattern::NeighborAlltoallv
        | Pattern::NeighborAlltoallw => return None,
    })
}

fn broadcast(members: u32, bytes: u64) -> Algorithm {
    if members < FEW || bytes <= SHORT_BROADCAST {
        Algorithm::tree(Shape::Binomial)
    } else if members.is_power_of_two() && bytes <= MEDIUM_BROADCAST {
        Algorithm::ScatterAllgather
    } else {
        Algorithm::ScatterRing
    }
}

/// Whether there are fewer elements than members in the power of two, so that some would get none.
fn is_short_for_parts(members: u32, bytes: u64) -> bool {
    elements(bytes) < 1 << members.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_vectors_go_different_ways() {
        let name = |pattern, members, bytes| choose(pattern, members, bytes).unwrap().to_string();
        assert_eq!(name(Pattern::Broadcast, 64, 12_288), "binomial");
        assert_eq!(name(Pattern::Broadcast, 64, 12_289), "scatter_allgather");
        assert_eq!(name(Pattern::Broadcast, 63, 12_289), "scatter_ring");
        assert_eq!(name(Pattern::Broadcast, 64, 524_289), "scatter_ring");
        assert_eq!(name(Pattern::Broadcast, 7, 1 << 30), "binomial");
        assert_eq!(name(Pattern::Allreduce, 64, 8), "recursive_doubling");
        assert_eq!(name(Pattern::Allreduce, 64, 63 * 8), "recursive_doubling");
        assert_eq!(name(Pattern::Allreduce, 64, 64 * 8), "rabenseifner");
        assert_eq!(name(Pattern::Reduce, 16, 2_048), "binomial");
        assert_eq!(name(Pattern::Reduce, 16, 2_049), "rabenseifner");
        assert_eq!(name(Pattern::Alltoall, 9, 256), "bruck");
        assert_eq!(name(Pattern::Alltoall, 8, 256), "scattered");
        assert_eq!(name(Pattern::Alltoall, 8, 32_768), "scattered");
        assert_eq!(name(Pattern::Alltoall, 8, 32_769), "pairwise");
        assert_eq!(name(Pattern::Allgather, 8, 65_535), "recursive_doubling");
        assert_eq!(name(Pattern::Allgather, 8, 65_536), "ring");
        assert_eq!(name(Pattern::Allgatherv, 10, 8_191), "bruck");
        assert_eq!(name(Pattern::Allgatherv, 10, 8_192), "ring");
        assert_eq!(name(Pattern::Allgatherv, 10, 32_769), "ring:32768");
        assert_eq!(name(Pattern::Allgather, 10, 32_769), "ring");
        assert_eq!(name(Pattern::ReduceScatter, 16, 32_767), "recursive_halving");
        assert_eq!(name(Pattern::ReduceScatterBlock, 16, 32_768), "pairwise");
    }
}
