//! Selection rules of Open MPI. Source: Open MPI v5.0.9, `ompi/mca/coll/tuned/coll_tuned_decision_fixed.c` (same in v4.1.8); other
//! collectives are those of `ompi/mca/coll/basic`. Where `ompi/mca/coll/base` falls back to another algorithm for too few elements, that
//! one is returned.
//!
//! The rules request no segmentation, so a chain is never pipelined and a segmented ring is a plain one. Two-process algorithms equal ring
//! or pairwise with two ranks; alltoall `linear_sync` has no request limit and equals linear.

use sintonia_mpi::CollectiveOp;

use super::elements;
use crate::algorithm::{CollectiveAlgorithm, FoldMode, TreeShape};

/// Rows by group size (exclusive limit): algorithms by message size (exclusive limits), and the one for larger messages.
type DecisionTable = &'static [(u32, &'static [(u64, CollectiveAlgorithm)], CollectiveAlgorithm)];

const ANY: u32 = u32::MAX;

const LINEAR: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::Linear);
const CHAIN: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::Chain);
const BINARY: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::Binary);
const IN_ORDER: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::InOrderBinary);
const BINOMIAL: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::Binomial);
const DOUBLING_TREE: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::BinomialDoubling);
const KNOMIAL: CollectiveAlgorithm = CollectiveAlgorithm::tree(TreeShape::Knomial);
const LINEAR_SYNC: CollectiveAlgorithm = CollectiveAlgorithm::LinearSync;
const SPLIT_BINARY: CollectiveAlgorithm = CollectiveAlgorithm::SplitBinary;
const SCATTER_ALLGATHER: CollectiveAlgorithm = CollectiveAlgorithm::ScatterAllgather;
const DOUBLING: CollectiveAlgorithm = CollectiveAlgorithm::RecursiveDoubling;
const HALVING: CollectiveAlgorithm = CollectiveAlgorithm::RecursiveHalving;
const BUTTERFLY: CollectiveAlgorithm = CollectiveAlgorithm::Butterfly;
const RABENSEIFNER: CollectiveAlgorithm = CollectiveAlgorithm::Rabenseifner(FoldMode::Halves);
const RING: CollectiveAlgorithm = CollectiveAlgorithm::Ring { segment: None };
const NEIGHBOR: CollectiveAlgorithm = CollectiveAlgorithm::NeighborExchange;
const DISSEMINATION: CollectiveAlgorithm = CollectiveAlgorithm::Dissemination;
const BRUCK: CollectiveAlgorithm = CollectiveAlgorithm::Bruck;
const PAIRWISE: CollectiveAlgorithm = CollectiveAlgorithm::Pairwise;
/// Two collectives in sequence; their trees follow from their own rules.
const TREES: CollectiveAlgorithm = CollectiveAlgorithm::Trees { up: TreeShape::Linear, down: TreeShape::Linear };

/// See [`super::choose_algorithm`].
pub(super) fn choose_algorithm(op: CollectiveOp, members: u32, bytes: u64) -> Option<CollectiveAlgorithm> {
    let total = bytes.saturating_mul(members.into());
    let trees = |up, down| CollectiveAlgorithm::Trees { up: tree_shape_of(up), down: tree_shape_of(down) };
    Some(match op {
        CollectiveOp::Barrier => look_up(BARRIER, members, 0),
        CollectiveOp::Broadcast => broadcast(members, bytes),
        CollectiveOp::Reduce => reduce(members, bytes),
        CollectiveOp::Allreduce => match look_up(ALLREDUCE, members, bytes) {
            TREES => trees(reduce(members, bytes), broadcast(members, bytes)),
            RING if elements(bytes) < members.into() => DOUBLING,
            RABENSEIFNER if is_shorter_than_power_of_two(members, bytes) => LINEAR,
            chosen => chosen,
        },
        CollectiveOp::Gather => look_up(GATHER, members, bytes),
        CollectiveOp::Scatter => look_up(SCATTER, members, bytes),
        CollectiveOp::Allgather => look_up(ALLGATHER, members, bytes),
        CollectiveOp::Allgatherv => match look_up(ALLGATHERV, members, bytes) {
            TREES => trees(LINEAR, broadcast(members, total)),
            chosen => chosen,
        },
        CollectiveOp::Alltoall => look_up(ALLTOALL, members, bytes),
        CollectiveOp::Alltoallv => look_up(ALLTOALLV, members, bytes),
        CollectiveOp::ReduceScatter => match look_up(REDUCE_SCATTER, members, total) {
            TREES => trees(reduce(members, total), LINEAR),
            chosen => chosen,
        },
        CollectiveOp::ReduceScatterBlock => match look_up(REDUCE_SCATTER_BLOCK, members, bytes) {
            TREES => trees(reduce(members, total), look_up(SCATTER, members, bytes)),
            chosen => chosen,
        },
        CollectiveOp::Gatherv | CollectiveOp::Scatterv | CollectiveOp::Alltoallw => LINEAR,
        CollectiveOp::Scan | CollectiveOp::Exscan => CHAIN,
        CollectiveOp::NeighborAllgather
        | CollectiveOp::NeighborAllgatherv
        | CollectiveOp::NeighborAlltoall
        | CollectiveOp::NeighborAlltoallv
        | CollectiveOp::NeighborAlltoallw => return None,
    })
}

fn look_up(rules: DecisionTable, members: u32, bytes: u64) -> CollectiveAlgorithm {
    let row = rules.iter().find(|(below, ..)| members < *below).or(rules.last());
    row.map_or(LINEAR, |(_, steps, otherwise)| {
        steps.iter().find(|(below, _)| bytes < *below).map_or(*otherwise, |(_, algorithm)| *algorithm)
    })
}

fn broadcast(members: u32, bytes: u64) -> CollectiveAlgorithm {
    match look_up(BROADCAST, members, bytes) {
        SCATTER_ALLGATHER if elements(bytes) < members.into() => LINEAR,
        chosen => chosen,
    }
}

fn reduce(members: u32, bytes: u64) -> CollectiveAlgorithm {
    match look_up(REDUCE, members, bytes) {
        RABENSEIFNER if is_shorter_than_power_of_two(members, bytes) => LINEAR,
        chosen => chosen,
    }
}

/// Whether there are fewer elements than ranks in the largest power of two, so that some would get none.
fn is_shorter_than_power_of_two(members: u32, bytes: u64) -> bool {
    elements(bytes) < 1 << members.max(1).ilog2()
}

/// Tree of a rooted collective; binomial if the rules do not select a tree.
fn tree_shape_of(algorithm: CollectiveAlgorithm) -> TreeShape {
    match algorithm {
        CollectiveAlgorithm::Tree { shape, .. } => shape,
        _ => TreeShape::Binomial,
    }
}

const BARRIER: DecisionTable = &[
    (4, &[], DOUBLING),
    (8, &[], LINEAR),
    (64, &[], DOUBLING),
    (256, &[], DISSEMINATION),
    (512, &[], BINOMIAL),
    (1024, &[], DISSEMINATION),
    (4096, &[], BINOMIAL),
    (ANY, &[], DISSEMINATION),
];

const BROADCAST: DecisionTable = &[
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

const REDUCE: DecisionTable = &[
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

const ALLREDUCE: DecisionTable = &[
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

const GATHER: DecisionTable = &[
    (4, &[(2, LINEAR_SYNC), (4, LINEAR), (32_768, BINOMIAL), (65_536, LINEAR), (131_072, BINOMIAL)], LINEAR_SYNC),
    (8, &[(1024, BINOMIAL), (8192, LINEAR), (32_768, BINOMIAL), (262_144, LINEAR)], LINEAR_SYNC),
    (256, &[], BINOMIAL),
    (512, &[(2048, BINOMIAL), (8192, LINEAR)], BINOMIAL),
    (ANY, &[], BINOMIAL),
];

const SCATTER: DecisionTable = &[
    (4, &[], LINEAR),
    (8, &[(2048, BINOMIAL), (4096, LINEAR), (8192, BINOMIAL)], LINEAR),
    (32, &[(16_384, BINOMIAL)], LINEAR),
    (64, &[(512, BINOMIAL), (8192, LINEAR), (16_384, BINOMIAL)], LINEAR),
    (ANY, &[(512, BINOMIAL)], LINEAR),
];

const ALLGATHER: DecisionTable = &[
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

const ALLGATHERV: DecisionTable = &[
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

const ALLTOALL: DecisionTable = &[
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

const ALLTOALLV: DecisionTable =
    &[(4, &[], PAIRWISE), (64, &[], LINEAR), (128, &[], PAIRWISE), (256, &[], LINEAR), (1024, &[], PAIRWISE), (ANY, &[], LINEAR)];

const REDUCE_SCATTER: DecisionTable = &[
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

const REDUCE_SCATTER_BLOCK: DecisionTable = &[
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
    fn the_rules_match_the_library_source() {
        let name = |op, members, bytes| choose_algorithm(op, members, bytes).unwrap().to_string();
        assert_eq!(name(CollectiveOp::Broadcast, 64, 8), "knomial");
        assert_eq!(name(CollectiveOp::Broadcast, 63, 2_047), "binomial_doubling");
        assert_eq!(name(CollectiveOp::Broadcast, 16, 1_048_576), "scatter_allgather");
        assert_eq!(name(CollectiveOp::Broadcast, 512, 16_384), "split_binary");
        assert_eq!(name(CollectiveOp::Reduce, 4, 4_095), "binary");
        assert_eq!(name(CollectiveOp::Reduce, 256, 8_192), "in_order_binary");
        assert_eq!(name(CollectiveOp::Allreduce, 8, 8_191), "recursive_doubling");
        assert_eq!(name(CollectiveOp::Allreduce, 8, 8_192), "rabenseifner_halves");
        assert_eq!(name(CollectiveOp::Allreduce, 3, 65_536), "ring");
        assert_eq!(name(CollectiveOp::Barrier, 7, 0), "linear");
        assert_eq!(name(CollectiveOp::Barrier, 64, 0), "dissemination");
        assert_eq!(name(CollectiveOp::Allgather, 2, 1), "ring");
        assert_eq!(name(CollectiveOp::Allgather, 64, 512), "neighbor_exchange");
        assert_eq!(name(CollectiveOp::Alltoall, 32, 511), "bruck");
        assert_eq!(name(CollectiveOp::Alltoall, 128, 262_144), "pairwise");
        assert_eq!(name(CollectiveOp::Alltoallv, 64, 8), "pairwise");
        assert_eq!(name(CollectiveOp::Gather, 1 << 20, 8), "binomial");
        assert_eq!(name(CollectiveOp::Scatter, 64, 512), "linear");
        assert_eq!(name(CollectiveOp::Scan, 64, 8), "chain");
    }

    #[test]
    fn bytes_of_a_reduce_scatter_are_those_of_all_members_but_those_of_one_for_equal_blocks() {
        let name = |op, members, bytes| choose_algorithm(op, members, bytes).unwrap().to_string();
        assert_eq!(name(CollectiveOp::ReduceScatter, 8, 262_144 / 8 - 1), "recursive_halving");
        assert_eq!(name(CollectiveOp::ReduceScatter, 8, 262_144 / 8), "ring");
        assert_eq!(name(CollectiveOp::ReduceScatterBlock, 64, 65_535), "butterfly");
    }

    #[test]
    fn an_operation_made_of_two_takes_the_trees_of_both() {
        let name = |op, members, bytes| choose_algorithm(op, members, bytes).unwrap().to_string();
        assert_eq!(name(CollectiveOp::Allreduce, 1024, 8), "binomial+knomial");
        assert_eq!(name(CollectiveOp::Allreduce, 4096, 16), "in_order_binary+knomial");
        assert_eq!(name(CollectiveOp::Allgatherv, 16, 8), "linear+knomial");
        assert_eq!(name(CollectiveOp::ReduceScatter, 128, 1), "binomial+linear");
    }

    #[test]
    fn with_fewer_elements_than_members_another_algorithm_steps_in() {
        let name = |op, members, bytes| choose_algorithm(op, members, bytes).unwrap().to_string();
        assert_eq!(name(CollectiveOp::Allreduce, 16, 8), "recursive_doubling", "instead of the ring");
        assert_eq!(name(CollectiveOp::Allreduce, 48, 31 * 8), "linear", "instead of Rabenseifner's algorithm");
        assert_eq!(name(CollectiveOp::Allreduce, 48, 32 * 8), "rabenseifner_halves");
        assert_eq!(name(CollectiveOp::Reduce, 2, 4), "linear", "instead of Rabenseifner's algorithm");
    }
}
