//! Algorithms that MPI libraries use for collectives: which collectives each supports, and the messages of its rounds.

use std::num::NonZeroU64;

use sintonia_mpi::CollectiveOp;

use crate::byte_range::{DataPartition, RoundBuilder};
pub use crate::halving::FoldMode;
pub use crate::tree_shape::TreeShape;
use crate::{CollectiveRound, Participant, broadcast, doubling, exchange, halving, ring, tree};

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveAlgorithm {
    /// Along a tree. N-to-N collectives go up to rank 0 and down again.
    Tree {
        /// Shape of the tree.
        shape: TreeShape,
        /// Segment size of a pipelined broadcast or reduction; `None` for no segmentation.
        segment: Option<NonZeroU64>,
    },
    /// N-to-N: up one tree to rank 0, down another.
    Trees {
        /// Towards rank 0.
        up: TreeShape,
        /// Away from rank 0.
        down: TreeShape,
    },
    /// The root requests the blocks one rank at a time.
    LinearSync,
    /// Each half of the vector goes down one side of a binary tree.
    SplitBinary,
    /// Scatter, then allgather by recursive doubling.
    ScatterAllgather,
    /// Scatter, then allgather around a ring.
    ScatterRing,
    /// Exchange with the rank that differs in bit k, for each k.
    RecursiveDoubling,
    /// As recursive doubling, with half of the data in each round.
    RecursiveHalving,
    /// Halving from the nearest rank on; blocks are reordered at the end.
    Butterfly,
    /// Reduce-scatter by halving, then allgather or gather.
    Rabenseifner(FoldMode),
    /// Around a ring, optionally segmented.
    Ring {
        /// Segment size; `None` for no segmentation.
        segment: Option<NonZeroU64>,
    },
    /// A token passes the ring twice.
    DoubleRing,
    /// Exchange with both neighbours in turn.
    NeighborExchange,
    /// Each rank notifies ranks +1, +2, +4, …
    Dissemination,
    /// Data is forwarded in steps of 1, 2, 4, … ranks.
    Bruck,
    /// One peer after the other.
    Pairwise,
    /// A limited number of peers at a time.
    Scattered,
}

/// Default segment size of a pipeline and a segmented ring.
const DEFAULT_SEGMENT: NonZeroU64 = NonZeroU64::new(65_536).expect("not zero");

impl CollectiveAlgorithm {
    /// A tree without segmentation.
    pub const fn tree(shape: TreeShape) -> CollectiveAlgorithm {
        CollectiveAlgorithm::Tree { shape, segment: None }
    }

    /// Every algorithm in its default variant, without pairs of trees.
    pub fn variants() -> impl Iterator<Item = CollectiveAlgorithm> {
        use CollectiveAlgorithm::*;
        let others = [
            Tree { shape: TreeShape::Chain, segment: Some(DEFAULT_SEGMENT) },
            LinearSync,
            SplitBinary,
            ScatterAllgather,
            ScatterRing,
            RecursiveDoubling,
            RecursiveHalving,
            Butterfly,
            Rabenseifner(FoldMode::Whole),
            Rabenseifner(FoldMode::Halves),
            Ring { segment: None },
            Ring { segment: Some(DEFAULT_SEGMENT) },
            DoubleRing,
            NeighborExchange,
            Dissemination,
            Bruck,
            Pairwise,
            Scattered,
        ];
        TreeShape::ALL.into_iter().map(CollectiveAlgorithm::tree).chain(others)
    }

    /// Whether the algorithm implements the collective.
    pub fn supports(self, op: CollectiveOp) -> bool {
        use CollectiveOp::*;
        let blocks_along = |shape: TreeShape| shape.has_contiguous_subtrees();
        match self {
            CollectiveAlgorithm::Tree { shape, segment } => match op {
                Reduce => true,
                Broadcast => shape != TreeShape::InOrderBinary,
                Barrier | Allreduce => shape != TreeShape::InOrderBinary && segment.is_none(),
                Gather | Gatherv | Scatter | Scatterv | Allgather | Allgatherv | ReduceScatter | ReduceScatterBlock => {
                    blocks_along(shape) && segment.is_none()
                }
                Alltoall | Alltoallv | Alltoallw => shape == TreeShape::Linear && segment.is_none(),
                Scan | Exscan => shape == TreeShape::Chain && segment.is_none(),
                _ => false,
            },
            CollectiveAlgorithm::Trees { up, down } => match op {
                Barrier | Allreduce => down != TreeShape::InOrderBinary,
                Allgather | Allgatherv => blocks_along(up) && down != TreeShape::InOrderBinary,
                ReduceScatter | ReduceScatterBlock => blocks_along(down),
                _ => false,
            },
            CollectiveAlgorithm::LinearSync => matches!(op, Gather | Gatherv),
            CollectiveAlgorithm::SplitBinary | CollectiveAlgorithm::ScatterAllgather | CollectiveAlgorithm::ScatterRing => op == Broadcast,
            CollectiveAlgorithm::RecursiveDoubling => {
                matches!(op, Barrier | Allreduce | Allgather | Allgatherv | ReduceScatter | ReduceScatterBlock | Scan | Exscan)
            }
            CollectiveAlgorithm::RecursiveHalving | CollectiveAlgorithm::Butterfly => matches!(op, ReduceScatter | ReduceScatterBlock),
            CollectiveAlgorithm::Rabenseifner(_) => matches!(op, Reduce | Allreduce),
            CollectiveAlgorithm::Ring { segment: Some(_) } => matches!(op, Allreduce | Allgather | Allgatherv),
            CollectiveAlgorithm::Ring { segment: None } => {
                matches!(op, Allreduce | Allgather | Allgatherv | ReduceScatter | ReduceScatterBlock)
            }
            CollectiveAlgorithm::DoubleRing | CollectiveAlgorithm::Dissemination => op == Barrier,
            CollectiveAlgorithm::NeighborExchange => matches!(op, Allgather | Allgatherv),
            CollectiveAlgorithm::Bruck => matches!(op, Allgather | Allgatherv | Alltoall),
            CollectiveAlgorithm::Pairwise => matches!(op, Alltoall | Alltoallv | Alltoallw | ReduceScatter | ReduceScatterBlock),
            CollectiveAlgorithm::Scattered => matches!(op, Alltoall | Alltoallv | Alltoallw),
        }
    }
}

/// Fills in what a participant does in round `index` (from 0) and returns true; after the last round the result is empty and false. Rounds
/// in which the participant does nothing are empty, too. Unsupported collectives and ranks outside the group have no rounds.
pub fn fill_round(
    algorithm: CollectiveAlgorithm,
    op: CollectiveOp,
    participant: &Participant,
    index: u32,
    round: &mut CollectiveRound,
) -> bool {
    round.sends.clear();
    round.receives.clear();
    round.reduced_bytes = 0;
    build_round(algorithm, op, participant, index, round)
}

/// All rounds of a participant in which it does something.
pub fn rounds(algorithm: CollectiveAlgorithm, op: CollectiveOp, participant: Participant) -> impl Iterator<Item = CollectiveRound> {
    let round = move |index| {
        let mut round = CollectiveRound::default();
        fill_round(algorithm, op, &participant, index, &mut round).then_some(round)
    };
    (0..).map_while(round).filter(|round| !round.sends.is_empty() || !round.receives.is_empty())
}

pub(crate) fn build_round(
    algorithm: CollectiveAlgorithm,
    op: CollectiveOp,
    participant: &Participant,
    index: u32,
    builder: &mut impl RoundBuilder,
) -> bool {
    use CollectiveOp::*;
    let is_a_member = participant.rank.max(participant.root) < participant.size;
    if participant.size < 2 || !is_a_member || !algorithm.supports(op) {
        return false;
    }
    match (algorithm, op) {
        (CollectiveAlgorithm::Tree { shape, segment }, Broadcast) => tree::broadcast(shape, segment, participant, index, builder),
        (CollectiveAlgorithm::Tree { shape, segment }, Reduce) => tree::reduce(shape, segment, participant, index, builder),
        (CollectiveAlgorithm::Tree { shape, .. }, Gather | Gatherv) => tree::gather(shape, participant, index, builder),
        (CollectiveAlgorithm::Tree { shape, .. }, Scatter | Scatterv) => tree::scatter(shape, participant, index, builder),
        (CollectiveAlgorithm::Tree { .. }, Alltoall | Alltoallv | Alltoallw) => exchange::alltoall_linear(participant, index, builder),
        (CollectiveAlgorithm::Tree { .. }, Scan | Exscan) => tree::scan(op == Scan, participant, index, builder),
        (CollectiveAlgorithm::Tree { shape, .. }, _) => up_then_down(shape, shape, op, participant, index, builder),
        (CollectiveAlgorithm::Trees { up, down }, _) => up_then_down(up, down, op, participant, index, builder),
        (CollectiveAlgorithm::LinearSync, _) => tree::gather_sync(participant, index, builder),
        (CollectiveAlgorithm::SplitBinary, _) => broadcast::split_binary(participant, index, builder),
        (CollectiveAlgorithm::ScatterAllgather, _) => broadcast::scatter_allgather(participant, index, builder),
        (CollectiveAlgorithm::ScatterRing, _) => broadcast::scatter_ring(participant, index, builder),
        (CollectiveAlgorithm::RecursiveDoubling, Barrier) => doubling::barrier(participant, index, builder),
        (CollectiveAlgorithm::RecursiveDoubling, Allreduce) => doubling::allreduce(participant, index, builder),
        (CollectiveAlgorithm::RecursiveDoubling, Scan | Exscan) => doubling::scan(participant, index, builder),
        (CollectiveAlgorithm::RecursiveDoubling, ReduceScatter | ReduceScatterBlock) => {
            doubling::reduce_scatter(participant, index, builder)
        }
        (CollectiveAlgorithm::RecursiveDoubling, _) => doubling::allgather(participant, index, builder),
        (CollectiveAlgorithm::RecursiveHalving, _) => halving::reduce_scatter(participant, index, builder),
        (CollectiveAlgorithm::Butterfly, _) => halving::butterfly(op == ReduceScatterBlock, participant, index, builder),
        (CollectiveAlgorithm::Rabenseifner(folding), Reduce) => halving::reduce(folding, participant, index, builder),
        (CollectiveAlgorithm::Rabenseifner(folding), _) => halving::allreduce(folding, participant, index, builder),
        (CollectiveAlgorithm::Ring { segment }, Allreduce) => ring::allreduce(segment, participant, index, builder),
        (CollectiveAlgorithm::Ring { .. }, ReduceScatter | ReduceScatterBlock) => ring::reduce_scatter(participant, index, builder),
        (CollectiveAlgorithm::Ring { segment }, _) => ring::allgather(segment, participant, index, builder),
        (CollectiveAlgorithm::DoubleRing, _) => ring::barrier(participant, index, builder),
        (CollectiveAlgorithm::NeighborExchange, _) => ring::neighbor_exchange(participant, index, builder),
        (CollectiveAlgorithm::Dissemination, _) => doubling::dissemination(participant, index, builder),
        (CollectiveAlgorithm::Bruck, Alltoall) => exchange::alltoall_bruck(participant, index, builder),
        (CollectiveAlgorithm::Bruck, _) => doubling::bruck(participant, index, builder),
        (CollectiveAlgorithm::Pairwise, ReduceScatter | ReduceScatterBlock) => exchange::reduce_scatter(participant, index, builder),
        (CollectiveAlgorithm::Pairwise, _) => exchange::alltoall_pairwise(participant, index, builder),
        (CollectiveAlgorithm::Scattered, _) => exchange::alltoall_scattered(participant, index, builder),
    }
}

/// Up one tree to rank 0 and down another: blocks in the direction in which every rank has its own, vectors in the other.
fn up_then_down(
    up: TreeShape,
    down: TreeShape,
    op: CollectiveOp,
    participant: &Participant,
    index: u32,
    builder: &mut impl RoundBuilder,
) -> bool {
    let first = Participant { root: 0, bytes: if op == CollectiveOp::Barrier { 0 } else { participant.bytes }, ..*participant };
    let all = Participant { bytes: DataPartition::blocks(first.bytes, first.size).total(), ..first };
    match op {
        CollectiveOp::Allgather | CollectiveOp::Allgatherv => match index.checked_sub(tree::BLOCK_ROUNDS) {
            None => tree::gather(up, &first, index, builder),
            Some(index) => tree::broadcast(down, None, &all, index, builder),
        },
        CollectiveOp::ReduceScatter | CollectiveOp::ReduceScatterBlock => match index.checked_sub(tree::reduce_rounds(up, None, &all)) {
            None => tree::reduce(up, None, &all, index, builder),
            Some(index) => tree::scatter(down, &first, index, builder),
        },
        _ => match index.checked_sub(tree::reduce_rounds(up, None, &first)) {
            None => tree::reduce(up, None, &first, index, builder),
            Some(index) => tree::broadcast(down, None, &first, index, builder),
        },
    }
}
