//! The algorithms by which MPI libraries build operations of groups: their names, what each can build, and its rounds.

use std::num::NonZeroU64;

use sintonia_mpi::Pattern;

pub use super::halving::Folding;
use super::piece::{Parts, Sheet};
pub use super::shape::Shape;
use super::{Party, Round, broadcast, doubling, exchange, halving, ring, tree};

/// How an operation is made of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Along a tree; an operation from all to all goes up to the first member and down again.
    Tree {
        /// Which one.
        shape: Shape,
        /// The most bytes that a message of a broadcast or a reduction has; `None` for all at once.
        segment: Option<NonZeroU64>,
    },
    /// From all to all, up along one tree to the first member and down along another.
    Trees {
        /// To the first member.
        up: Shape,
        /// From it.
        down: Shape,
    },
    /// The root asks one after the other.
    LinearSync,
    /// Half of the vector down each side of a binary tree.
    SplitBinary,
    /// Parts of the vector to all, then exchanged by recursive doubling.
    ScatterAllgather,
    /// Parts of the vector to all, then exchanged around a ring.
    ScatterRing,
    /// Everyone meets the member whose place differs in one bit, bit after bit.
    RecursiveDoubling,
    /// The same with half of the data in each round.
    RecursiveHalving,
    /// Halving from the nearest member on; blocks go home in the end.
    Butterfly,
    /// Halving, then the parts of the result come together.
    Rabenseifner(Folding),
    /// Around the circle; with segments, each part of the data in several pieces one after the other.
    Ring {
        /// The bytes of a piece; `None` for parts that are not cut.
        segment: Option<NonZeroU64>,
    },
    /// A message twice around the circle.
    DoubleRing,
    /// The two neighbours in turn.
    NeighborExchange,
    /// Everyone tells those 1, 2, 4 … places on.
    Dissemination,
    /// Data takes several steps of 1, 2, 4 … places.
    Bruck,
    /// One member after the other.
    Pairwise,
    /// Some members at a time.
    Scattered,
}

/// The segment of a pipeline and of a segmented ring of which nothing else is said.
const USUAL_SEGMENT: NonZeroU64 = NonZeroU64::new(65_536).expect("not zero");

impl Algorithm {
    /// A tree without segments.
    pub const fn tree(shape: Shape) -> Algorithm {
        Algorithm::Tree { shape, segment: None }
    }

    /// One of each kind that there is, trees as pairs aside.
    pub fn kinds() -> impl Iterator<Item = Algorithm> {
        use Algorithm::*;
        let others = [
            Tree { shape: Shape::Chain, segment: Some(USUAL_SEGMENT) },
            LinearSync,
            SplitBinary,
            ScatterAllgather,
            ScatterRing,
            RecursiveDoubling,
            RecursiveHalving,
            Butterfly,
            Rabenseifner(Folding::Whole),
            Rabenseifner(Folding::Halves),
            Ring { segment: None },
            Ring { segment: Some(USUAL_SEGMENT) },
            DoubleRing,
            NeighborExchange,
            Dissemination,
            Bruck,
            Pairwise,
            Scattered,
        ];
        Shape::ALL.into_iter().map(Algorithm::tree).chain(others)
    }

    /// Whether the operation can be built by it.
    pub fn fits(self, pattern: Pattern) -> bool {
        use Pattern::*;
        let blocks_along = |shape: Shape| shape.keeps_branches_together();
        match self {
            Algorithm::Tree { shape, segment } => match pattern {
                Reduce => true,
                Broadcast => shape != Shape::InOrderBinary,
                Barrier | Allreduce => shape != Shape::InOrderBinary && segment.is_none(),
                Gather | Gatherv | Scatter | Scatterv | Allgather | Allgatherv | ReduceScatter | ReduceScatterBlock => {
                    blocks_along(shape) && segment.is_none()
                }
                Alltoall | Alltoallv | Alltoallw => shape == Shape::Linear && segment.is_none(),
                Scan | Exscan => shape == Shape::Chain && segment.is_none(),
                _ => false,
            },
            Algorithm::Trees { up, down } => match pattern {
                Barrier | Allreduce => down != Shape::InOrderBinary,
                Allgather | Allgatherv => blocks_along(up) && down != Shape::InOrderBinary,
                ReduceScatter | ReduceScatterBlock => blocks_along(down),
                _ => false,
            },
            Algorithm::LinearSync => matches!(pattern, Gather | Gatherv),
            Algorithm::SplitBinary | Algorithm::ScatterAllgather | Algorithm::ScatterRing => pattern == Broadcast,
            Algorithm::RecursiveDoubling => {
                matches!(pattern, Barrier | Allreduce | Allgather | Allgatherv | ReduceScatter | ReduceScatterBlock | Scan | Exscan)
            }
            Algorithm::RecursiveHalving | Algorithm::Butterfly => matches!(pattern, ReduceScatter | ReduceScatterBlock),
            Algorithm::Rabenseifner(_) => matches!(pattern, Reduce | Allreduce),
            Algorithm::Ring { segment: Some(_) } => matches!(pattern, Allreduce | Allgather | Allgatherv),
            Algorithm::Ring { segment: None } => {
                matches!(pattern, Allreduce | Allgather | Allgatherv | ReduceScatter | ReduceScatterBlock)
            }
            Algorithm::DoubleRing | Algorithm::Dissemination => pattern == Barrier,
            Algorithm::NeighborExchange => matches!(pattern, Allgather | Allgatherv),
            Algorithm::Bruck => matches!(pattern, Allgather | Allgatherv | Alltoall),
            Algorithm::Pairwise => matches!(pattern, Alltoall | Alltoallv | Alltoallw | ReduceScatter | ReduceScatterBlock),
            Algorithm::Scattered => matches!(pattern, Alltoall | Alltoallv | Alltoallw),
        }
    }
}

/// Fills in what a member does in the round of this index, counted from 0; false after the last one, and then the round is empty. Rounds in
/// which a member has nothing to do are empty too. An algorithm that does not fit the operation has no rounds, nor has who is no member.
pub fn round(algorithm: Algorithm, pattern: Pattern, party: &Party, index: u32, round: &mut Round) -> bool {
    round.sends.clear();
    round.receives.clear();
    round.combines = 0;
    write_down(algorithm, pattern, party, index, round)
}

pub(super) fn write_down(algorithm: Algorithm, pattern: Pattern, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    use Pattern::*;
    let is_a_member = party.here.max(party.root) < party.size;
    if party.size < 2 || !is_a_member || !algorithm.fits(pattern) {
        return false;
    }
    match (algorithm, pattern) {
        (Algorithm::Tree { shape, segment }, Broadcast) => tree::down(shape, segment, party, index, sheet),
        (Algorithm::Tree { shape, segment }, Reduce) => tree::up(shape, segment, party, index, sheet),
        (Algorithm::Tree { shape, .. }, Gather | Gatherv) => tree::gather(shape, party, index, sheet),
        (Algorithm::Tree { shape, .. }, Scatter | Scatterv) => tree::scatter(shape, party, index, sheet),
        (Algorithm::Tree { .. }, Alltoall | Alltoallv | Alltoallw) => exchange::linear(party, index, sheet),
        (Algorithm::Tree { .. }, Scan | Exscan) => tree::pass_on(pattern == Scan, party, index, sheet),
        (Algorithm::Tree { shape, .. }, _) => up_and_down(shape, shape, pattern, party, index, sheet),
        (Algorithm::Trees { up, down }, _) => up_and_down(up, down, pattern, party, index, sheet),
        (Algorithm::LinearSync, _) => tree::gather_in_turn(party, index, sheet),
        (Algorithm::SplitBinary, _) => broadcast::split_binary(party, index, sheet),
        (Algorithm::ScatterAllgather, _) => broadcast::scatter_doubling(party, index, sheet),
        (Algorithm::ScatterRing, _) => broadcast::scatter_ring(party, index, sheet),
        (Algorithm::RecursiveDoubling, Barrier) => doubling::barrier(party, index, sheet),
        (Algorithm::RecursiveDoubling, Allreduce) => doubling::allreduce(party, index, sheet),
        (Algorithm::RecursiveDoubling, Scan | Exscan) => doubling::scan(party, index, sheet),
        (Algorithm::RecursiveDoubling, ReduceScatter | ReduceScatterBlock) => doubling::reduce_scatter(party, index, sheet),
        (Algorithm::RecursiveDoubling, _) => doubling::allgather(party, index, sheet),
        (Algorithm::RecursiveHalving, _) => halving::reduce_scatter(party, index, sheet),
        (Algorithm::Butterfly, _) => halving::butterfly(pattern == ReduceScatterBlock, party, index, sheet),
        (Algorithm::Rabenseifner(folding), Reduce) => halving::reduce(folding, party, index, sheet),
        (Algorithm::Rabenseifner(folding), _) => halving::allreduce(folding, party, index, sheet),
        (Algorithm::Ring { segment }, Allreduce) => ring::allreduce(segment, party, index, sheet),
        (Algorithm::Ring { .. }, ReduceScatter | ReduceScatterBlock) => ring::reduce_scatter(party, index, sheet),
        (Algorithm::Ring { segment }, _) => ring::allgather(segment, party, index, sheet),
        (Algorithm::DoubleRing, _) => ring::barrier(party, index, sheet),
        (Algorithm::NeighborExchange, _) => ring::neighbor_exchange(party, index, sheet),
        (Algorithm::Dissemination, _) => doubling::dissemination(party, index, sheet),
        (Algorithm::Bruck, Alltoall) => exchange::bruck(party, index, sheet),
        (Algorithm::Bruck, _) => doubling::bruck(party, index, sheet),
        (Algorithm::Pairwise, ReduceScatter | ReduceScatterBlock) => exchange::reduce_scatter(party, index, sheet),
        (Algorithm::Pairwise, _) => exchange::pairwise(party, index, sheet),
        (Algorithm::Scattered, _) => exchange::scattered(party, index, sheet),
    }
}

/// To the first member along one tree, and from it along another: blocks in that direction in which everyone has its own.
fn up_and_down(up: Shape, down: Shape, pattern: Pattern, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let first = Party { root: 0, bytes: if pattern == Pattern::Barrier { 0 } else { party.bytes }, ..*party };
    let all = Party { bytes: Parts::blocks(first.bytes, first.size).total(), ..first };
    match pattern {
        Pattern::Allgather | Pattern::Allgatherv => match index.checked_sub(tree::ROUNDS_OF_BLOCKS) {
            None => tree::gather(up, &first, index, sheet),
            Some(index) => tree::down(down, None, &all, index, sheet),
        },
        Pattern::ReduceScatter | Pattern::ReduceScatterBlock => match index.checked_sub(tree::rounds_up(up, None, &all)) {
            None => tree::up(up, None, &all, index, sheet),
            Some(index) => tree::scatter(down, &first, index, sheet),
        },
        _ => match index.checked_sub(tree::rounds_up(up, None, &first)) {
            None => tree::up(up, None, &first, index, sheet),
            Some(index) => tree::down(down, None, &first, index, sheet),
        },
    }
}
