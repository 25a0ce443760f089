//! What Open MPI takes. Source: Open MPI v5.0.9, `ompi/mca/coll/tuned/coll_tuned_decision_fixed.c`, which is the same in v4.1.8; operations
//! that it leaves out are built by `ompi/mca/coll/basic`. Where an algorithm of `ompi/mca/coll/base` gives way to another one because there
//! are too few elements, that other one is taken here.
//!
//! The rules ask for no segments, so a chain is never a pipeline, and a segmented ring is an ordinary one. Ways for two processes are those
//! of the ring or the pairs with two members; alltoall with `linear_sync` has no limit of requests and is linear.

use sintonia_mpi::Pattern;

use super::elements;
use crate::collective::algorithm::{Algorithm, Folding, Shape};

/// Rows by members: below how many they hold, and what is taken below how many bytes, and else.
type Rules = &'static [(u32, &'static [(u64, Algorithm)], Algorithm)];

const ANY: u32 = u32::MAX;

const LINEAR: Algorithm = Algorithm::tree(Shape::Linear);
const CHAIN: Algorithm = Algorithm::tree(Shape::Chain);
const BINARY: Algorithm = Algorithm::tree(Shape::Binary);
const IN_ORDER: Algorithm = Algorithm::tree(Shape::InOrderBinary);
const BINOMIAL: Algorithm = Algorithm::tree(Shape::Binomial);
const DOUBLING_TREE: Algorithm = Algorithm::tree(Shape::BinomialDoubling);
const KNOMIAL: Algorithm = Algorithm::tree(Shape::Knomial);
const LINEAR_SYNC: Algorithm = Algorithm::LinearSync;
const SPLIT_BINARY: Algorithm = Algorithm::SplitBinary;
const SCATTER_ALLGATHER: Algorithm = Algorithm::ScatterAllgather;
const DOUBLING: Algorithm = Algorithm::RecursiveDoubling;
const HALVING: Algorithm = Algorithm::RecursiveHalving;
const BUTTERFLY: Algorithm = Algorithm::Butterfly;
const RABENSEIFNER: Algorithm = Algorithm::Rabenseifner(Folding::Halves);
const RING: Algorithm = Algorithm::Ring { segment: None };
const NEIGHBOR: Algorithm = Algorithm::NeighborExchange;
const DISSEMINATION: Algorithm = Algorithm::Dissemination;
const BRUCK: Algorithm = Algorithm::Bruck;
const PAIRWISE: Algorithm = Algorithm::Pairwise;
/// Two operations one after the other; which trees they take, the rules for these say.
const TREES: Algorithm = Algorithm::Trees { up: Shape::Linear, down: Shape::Linear };

/// See [`super::choose`].
pub fn choose(pattern: Pattern, members: u32, bytes: u64) -> Option<Algorithm> {
    let total = bytes.saturating_mul(members.into());
    let trees = |up, down| Algorithm::Trees { up: shape(up), down: shape(down) };
    Some(match pattern {
        Pattern::Barrier => by(BARRIER, members, 0),
        Pattern::Broadcast => broadcast(members, bytes),
        Pattern::Reduce => reduce(members, bytes),
        Pattern::Allreduce => match by(ALLREDUCE, members, bytes) {
            TREES => trees(reduce(members, bytes), broadcast(members, bytes)),
            RING if elements(bytes) < members.into() => DOUBLING,
            RABENSEIFNER if is_short_for_parts(members, bytes) => LINEAR,
            chosen => chosen,
        },
        Pattern::Gather => by(GATHER, members, bytes),
        Pattern::Scatter => by(SCATTER, members, bytes),
        Pattern::Allgather => by(ALLGATHER, members, bytes),
        Pattern::Allgatherv => match by(ALLGATHERV, members, bytes) {
            TREES => trees(LINEAR, broadcast(members, total)),
            chosen => chosen,
        },
        Pattern::Alltoall => by(ALLTOALL, members, bytes),
        Pattern::Alltoallv => by(ALLTOALLV, members, bytes),
        Pattern::ReduceScatter => match by(REDUCE_SCATTER, members, total) {
            TREES => trees(reduce(members, total), LINEAR),
            chosen => chosen,
        },
        Pattern::ReduceScatterBlock => match by(REDUCE_SCATTER_BLOCK, members, bytes) {
            TREES => trees(reduce(members, total), by(SCATTER, members, bytes)),
            chosen => chosen,
        },
        Pattern::Gatherv | Pattern::Scatterv | Pattern::Alltoallw => LINEAR,
        Pattern::Scan | Pattern::Exscan => CHAIN,
        Pattern::NeighborAllgather
        | Pattern::NeighborAllgatherv
        | Pattern::NeighborAlltoall
        | Pattern::NeighborAlltoallv
        | Pattern::NeighborAlltoallw => return None,
    })
}

fn by(rules: Rules, members: u32, bytes: u64) -> Algorithm {
    let row = rules.iter().find(|(below, ..)| members < *below).or(rules.last());
    row.map_or(LINEAR, |(_, steps, otherwise)| {
        steps.iter().find(|(below, _)| bytes < *below).map_or(*otherwise, |(_, algorithm)| *algorithm)
    })
}

fn broadcast(members: u32, bytes: u64) -> Algorithm {
    match by(BROADCAST, members, bytes) {
        SCATTER_ALLGATHER if elements(bytes) < members.into() => LINEAR,
        chosen => chosen,
    }
}

fn reduce(members: u32, bytes: u64) -> Algorithm {
    match by(REDUCE, members, bytes) {
        RABENSEIFNER if is_short_for_parts(members, bytes) => LINEAR,
        chosen => chosen,
    }
}

/// Whether there are fewer elements than members in the power of two, so that some would get none.
fn is_short_for_parts(members: u32, bytes: u64) -> bool {
    elements(bytes) < 1 << members.max(1).ilog2()
}

/// The tree of an operation from or to one member; where the rules take none, the usual one.
fn shape(algorithm: Algorithm) -> Shape {
    match algorithm {
        Algorithm::Tree { shape, .. } => shape,
        _ => Shape::Binomial,
    }
}

const BARRIER: Rules = &[
    (4, &[], DOUBLING),
    (8, &[], LINEAR),
    (64, &[], DOUBLING),
    (256, &[], DISSEMINATION),
    (512, &[], BINOMIAL),
    (1024, &[], DISSEMINATION),
    (4096, &[], BINOMIAL),
    (ANY, &[], DISSEMINATION),
];

const BROADCAST: Rules = &[
    (
        4,
        &[
            (32, CHAIN),
            (256, BINARY),
            (512, CHAIN),
            (1024, KNOMIAL),
            (32_768, LINEAR),
            (131_072, BINARY),
            (262_144, CHAIN),
            (524_288, LINEAR),
            (1_048_576, DOUBLING_TREE),
        ],
        BINARY,
    ),
    (8, &[(64, BINARY), (128, DOUBLING_TREE), (2048, BINARY), (8192, DOUBLING_TREE), (1_048_576, LINEAR)], CHAIN),
    (16, &[(8, KNOMIAL), (64, BINARY), (4096, KNOMIAL), (16_384, BINARY), (32_768, DOUBLING_TREE)], LINEAR),
    (32, &[(4096, KNOMIAL), (1_048_576, DOUBLING_TREE)], SCATTER_ALLGATHER),
    (64, &[(2048, DOUBLING_TREE)], KNOMIAL),
    (128, &[], KNOMIAL),
    (256, &[(2, DOUBLING_TREE), (16_384, BINARY), (32_768, LINEAR), (65_536, BINARY)], KNOMIAL),
    (1024, &[(16_384, KNOMIAL), (32_768, SPLIT_BINARY)], KNOMIAL),
    (2048, &[(524_288, KNOMIAL)], SCATTER_ALLGATHER),
    (4096, &[(262_144, KNOMIAL)], SCATTER_ALLGATHER),
    (ANY, &[(8192, KNOMIAL), (16_384, BINARY), (262_144, KNOMIAL)], SCATTER_ALLGATHER),
];

const REDUCE: Rules = &[
    (4, &[(8, RABENSEIFNER), (16, BINARY), (32, CHAIN), (262_144, LINEAR)], CHAIN),
    (8, &[(4096, BINARY), (65_536, CHAIN), (262_144, BINOMIAL), (524_288, LINEAR), (1_048_576, BINOMIAL)], LINEAR),
    (16, &[(8192, BINARY)], BINOMIAL),
    (32, &[(4096, BINARY)], BINOMIAL),
    (256, &[], BINOMIAL),
    (512, &[(8192, BINOMIAL), (16_384, IN_ORDER)], BINOMIAL),
    (2048, &[], BINOMIAL),
    (4096, &[(512, BINOMIAL), (1024, IN_ORDER), (8192, BINOMIAL), (16_384, IN_ORDER)], BINOMIAL),
    (ANY, &[(16, BINOMIAL), (32, IN_ORDER), (1024, BINOMIAL), (2048, IN_ORDER), (8192, BINOMIAL), (16_384, IN_ORDER)], BINOMIAL),
];

const ALLREDUCE: Rules = &[
    (4, &[(8, RING), (4096, DOUBLING), (8192, RING), (16_384, DOUBLING), (262_144, RING)], RABENSEIFNER),
    (8, &[(16, RING), (8192, DOUBLING)], RABENSEIFNER),
    (16, &[(8192, DOUBLING)], RABENSEIFNER),
    (32, &[(64, RING), (4096, DOUBLING)], RABENSEIFNER),
    (64, &[(128, RING)], RABENSEIFNER),
    (128, &[(262_144, DOUBLING)], RABENSEIFNER),
    (256, &[(131_072, TREES), (262_144, DOUBLING)], RABENSEIFNER),
    (512, &[(4096, TREES)], RABENSEIFNER),
    (2048, &[(2048, TREES), (16_384, DOUBLING)], RABENSEIFNER),
    (4096, &[(2048, TREES), (4096, RING), (16_384, DOUBLING)], RABENSEIFNER),
    (ANY, &[(2048, TREES), (16_384, RING), (32_768, DOUBLING)], RABENSEIFNER),
];

const GATHER: Rules = &[
    (4, &[(2, LINEAR_SYNC), (4, LINEAR), (32_768, BINOMIAL), (65_536, LINEAR), (131_072, BINOMIAL)], LINEAR_SYNC),
    (8, &[(1024, BINOMIAL), (8192, LINEAR), (32_768, BINOMIAL), (262_144, LINEAR)], LINEAR_SYNC),
    (256, &[], BINOMIAL),
    (512, &[(2048, BINOMIAL), (8192, LINEAR)], BINOMIAL),
    (ANY, &[], BINOMIAL),
];

const SCATTER: Rules = &[
    (4, &[], LINEAR),
    (8, &[(2048, BINOMIAL), (4096, LINEAR), (8192, BINOMIAL)], LINEAR),
    (32, &[(16_384, BINOMIAL)], LINEAR),
    (64, &[(512, BINOMIAL), (8192, LINEAR), (16_384, BINOMIAL)], LINEAR),
    (ANY, &[(512, BINOMIAL)], LINEAR),
];

const ALLGATHER: Rules = &[
    (3, &[], RING),
    (32, &[], DOUBLING),
    (64, &[(1024, DOUBLING), (65_536, NEIGHBOR)], RING),
    (128, &[(512, DOUBLING), (65_536, NEIGHBOR)], RING),
    (256, &[(512, DOUBLING), (131_072, NEIGHBOR), (524_288, RING), (1_048_576, NEIGHBOR)], RING),
    (512, &[(32, DOUBLING), (128, BRUCK), (1024, DOUBLING), (131_072, NEIGHBOR), (524_288, RING), (1_048_576, NEIGHBOR)], RING),
    (1024, &[(64, DOUBLING), (256, BRUCK), (2048, DOUBLING)], NEIGHBOR),
    (2048, &[(4, DOUBLING), (8, BRUCK), (16, DOUBLING), (32, BRUCK), (256, DOUBLING), (512, BRUCK), (4096, DOUBLING)], NEIGHBOR),
    (4096, &[(32, BRUCK), (128, DOUBLING), (512, BRUCK), (4096, DOUBLING)], NEIGHBOR),
    (ANY, &[(2, DOUBLING), (8, BRUCK), (16, DOUBLING), (512, BRUCK), (4096, DOUBLING)], NEIGHBOR),
];

const ALLGATHERV: Rules = &[
    (3, &[], RING),
    (8, &[(256, TREES), (4096, NEIGHBOR), (8192, RING), (16_384, NEIGHBOR), (262_144, BRUCK)], NEIGHBOR),
    (16, &[(1024, TREES)], BRUCK),
    (32, &[(128, TREES), (262_144, BRUCK)], RING),
    (64, &[(256, TREES), (8192, BRUCK)], RING),
    (128, &[(256, TREES), (4096, BRUCK)], RING),
    (256, &[(1024, BRUCK), (65_536, NEIGHBOR)], RING),
    (512, &[(1024, BRUCK)], RING),
    (1024, &[(512, BRUCK), (1024, TREES), (4096, BRUCK), (1_048_576, NEIGHBOR)], RING),
    (ANY, &[(4096, BRUCK)], NEIGHBOR),
];

const ALLTOALL: Rules = &[
    (3, &[(32_768, PAIRWISE), (262_144, LINEAR)], PAIRWISE),
    (8, &[(524_288, LINEAR), (1_048_576, PAIRWISE)], LINEAR),
    (16, &[], LINEAR),
    (32, &[(4, LINEAR), (512, BRUCK)], LINEAR),
    (64, &[(512, BRUCK)], LINEAR),
    (256, &[(1024, BRUCK), (262_144, LINEAR)], PAIRWISE),
    (512, &[(1024, BRUCK), (32_768, LINEAR)], PAIRWISE),
    (1024, &[(512, BRUCK), (262_144, LINEAR)], PAIRWISE),
    (2048, &[(512, BRUCK)], LINEAR),
    (4096, &[(1024, BRUCK)], LINEAR),
    (ANY, &[(2048, BRUCK)], LINEAR),
];

const ALLTOALLV: Rules =
    &[(4, &[], PAIRWISE), (64, &[], LINEAR), (128, &[], PAIRWISE), (256, &[], LINEAR), (1024, &[], PAIRWISE), (ANY, &[], LINEAR)];

const REDUCE_SCATTER: Rules = &[
    (4, &[(65_536, RING), (131_072, BUTTERFLY)], RING),
    (8, &[(8, TREES), (262_144, HALVING)], RING),
    (32, &[(262_144, HALVING)], RING),
    (64, &[(64, TREES), (2048, HALVING), (524_288, BUTTERFLY)], RING),
    (128, &[(256, TREES), (512, HALVING), (2048, BUTTERFLY), (4096, HALVING)], BUTTERFLY),
    (256, &[(256, TREES), (512, HALVING)], BUTTERFLY),
    (512, &[(256, TREES), (1024, HALVING)], BUTTERFLY),
    (1024, &[(512, TREES), (2048, HALVING), (8192, BUTTERFLY), (16_384, HALVING)], BUTTERFLY),
    (2048, &[(512, TREES), (4096, HALVING), (16_384, BUTTERFLY), (32_768, HALVING)], BUTTERFLY),
    (4096, &[(512, TREES), (4096, HALVING)], BUTTERFLY),
    (ANY, &[(1024, TREES), (8192, HALVING)], BUTTERFLY),
];

const REDUCE_SCATTER_BLOCK: Rules = &[
    (
        4,
        &[
            (4, DOUBLING),
            (8, BUTTERFLY),
            (16, HALVING),
            (128, BUTTERFLY),
            (256, HALVING),
            (4096, BUTTERFLY),
            (8192, HALVING),
            (131_072, BUTTERFLY),
        ],
        TREES,
    ),
    (8, &[(8, HALVING), (32, DOUBLING), (256, BUTTERFLY), (8192, HALVING), (16_384, BUTTERFLY), (1_048_576, HALVING)], TREES),
    (16, &[(4, TREES), (32, HALVING), (128, BUTTERFLY), (524_288, HALVING), (4_194_304, TREES)], BUTTERFLY),
    (32, &[(32, TREES), (524_288, HALVING), (2_097_152, TREES), (4_194_304, HALVING)], BUTTERFLY),
    (ANY, &[(4, HALVING), (16, TREES), (65_536, BUTTERFLY), (262_144, TREES)], BUTTERFLY),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_say_what_the_source_says() {
        let name = |pattern, members, bytes| choose(pattern, members, bytes).unwrap().to_string();
        assert_eq!(name(Pattern::Broadcast, 64, 8), "knomial");
        assert_eq!(name(Pattern::Broadcast, 63, 2_047), "binomial_doubling");
        assert_eq!(name(Pattern::Broadcast, 16, 1_048_576), "scatter_allgather");
        assert_eq!(name(Pattern::Broadcast, 512, 16_384), "split_binary");
        assert_eq!(name(Pattern::Reduce, 4, 4_095), "binary");
        assert_eq!(name(Pattern::Reduce, 256, 8_192), "in_order_binary");
        assert_eq!(name(Pattern::Allreduce, 8, 8_191), "recursive_doubling");
        assert_eq!(name(Pattern::Allreduce, 8, 8_192), "rabenseifner_halves");
        assert_eq!(name(Pattern::Allreduce, 3, 65_536), "ring");
        assert_eq!(name(Pattern::Barrier, 7, 0), "linear");
        assert_eq!(name(Pattern::Barrier, 64, 0), "dissemination");
        assert_eq!(name(Pattern::Allgather, 2, 1), "ring");
        assert_eq!(name(Pattern::Allgather, 64, 512), "neighbor_exchange");
        assert_eq!(name(Pattern::Alltoall, 32, 511), "bruck");
        assert_eq!(name(Pattern::Alltoall, 128, 262_144), "pairwise");
        assert_eq!(name(Pattern::Alltoallv, 64, 8), "pairwise");
        assert_eq!(name(Pattern::Gather, 1 << 20, 8), "binomial");
        assert_eq!(name(Pattern::Scatter, 64, 512), "linear");
        assert_eq!(name(Pattern::Scan, 64, 8), "chain");
    }

    #[test]
    fn bytes_of_a_reduce_scatter_are_those_of_all_members_but_those_of_one_for_equal_blocks() {
        let name = |pattern, members, bytes| choose(pattern, members, bytes).unwrap().to_string();
        assert_eq!(name(Pattern::ReduceScatter, 8, 262_144 / 8 - 1), "recursive_halving");
        assert_eq!(name(Pattern::ReduceScatter, 8, 262_144 / 8), "ring");
        assert_eq!(name(Pattern::ReduceScatterBlock, 64, 65_535), "butterfly");
    }

    #[test]
    fn an_operation_made_of_two_takes_the_trees_of_both() {
        let name = |pattern, members, bytes| choose(pattern, members, bytes).unwrap().to_string();
        assert_eq!(name(Pattern::Allreduce, 1024, 8), "binomial+knomial");
        assert_eq!(name(Pattern::Allreduce, 4096, 16), "in_order_binary+knomial");
        assert_eq!(name(Pattern::Allgatherv, 16, 8), "linear+knomial");
        assert_eq!(name(Pattern::ReduceScatter, 128, 1), "binomial+linear");
    }

    #[test]
    fn with_fewer_elements_than_members_another_algorithm_steps_in() {
        let name = |pattern, members, bytes| choose(pattern, members, bytes).unwrap().to_string();
        assert_eq!(name(Pattern::Allreduce, 16, 8), "recursive_doubling", "instead of the ring");
        assert_eq!(name(Pattern::Allreduce, 48, 31 * 8), "linear", "instead of Rabenseifner's algorithm");
        assert_eq!(name(Pattern::Allreduce, 48, 32 * 8), "rabenseifner_halves");
        assert_eq!(name(Pattern::Reduce, 2, 4), "linear", "instead of Rabenseifner's algorithm");
    }
}
