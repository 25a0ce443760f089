//! Message and operand volume against textbook formulas: p ranks, n bytes of a vector or b bytes of a block.

use sintonia_mpi::CollectiveOp;

use super::{CollectiveTrace, group_sizes};
use crate::algorithm::{CollectiveAlgorithm, FoldMode, TreeShape};

const ROOT: u32 = 0;

fn trace(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, bytes: u64) -> CollectiveTrace {
    assert!(algorithm.supports(op));
    CollectiveTrace::new(algorithm, op, size, ROOT, bytes)
}

/// Group size, largest power of two, its exponent, and the rest.
fn numbers(size: u32) -> (u64, u64, u64, u64) {
    let steps = u64::from(size.ilog2());
    let inside = 1 << steps;
    (size.into(), inside, steps, u64::from(size) - inside)
}

#[test]
fn along_a_tree_every_rank_but_the_root_gets_the_vector_once() {
    for size in group_sizes() {
        let n = 90;
        for shape in TreeShape::ALL.into_iter().filter(|shape| *shape != TreeShape::InOrderBinary) {
            let down = trace(CollectiveAlgorithm::tree(shape), CollectiveOp::Broadcast, size, n);
            let up = trace(CollectiveAlgorithm::tree(shape), CollectiveOp::Reduce, size, n);
            let both = trace(CollectiveAlgorithm::tree(shape), CollectiveOp::Allreduce, size, n);
            let once = n * u64::from(size - 1);
            assert_eq!((down.volume(), down.reduced_bytes()), (once, 0), "{shape:?}");
            assert_eq!((up.volume(), up.reduced_bytes()), (once, once), "{shape:?}");
            assert_eq!((both.volume(), both.reduced_bytes()), (2 * once, once), "{shape:?}");
        }
        // The root of the in-order tree sends its result to the root of the collective.
        let in_order = trace(CollectiveAlgorithm::tree(TreeShape::InOrderBinary), CollectiveOp::Reduce, size, n);
        assert_eq!(in_order.volume(), n * u64::from(size - 1) + if size > 1 { n } else { 0 });
    }
}

#[test]
fn segments_change_the_number_of_messages_but_not_the_bytes() {
    let cut = CollectiveAlgorithm::from_name("chain:10", CollectiveOp::Broadcast).unwrap();
    let trace = trace(cut, CollectiveOp::Broadcast, 5, 95);
    assert_eq!(trace.volume(), 4 * 95);
    assert_eq!(trace.matched_messages("").count(), 4 * 10);
    assert!(trace.matched_messages("").all(|message| message.range.bytes <= 10));
}

#[test]
fn the_allreduces_send_what_is_known_of_them() {
    for size in group_sizes().skip(1) {
        let (p, inside, steps, rest) = numbers(size);
        let n = 2 * p * inside;
        let doubling = trace(CollectiveAlgorithm::RecursiveDoubling, CollectiveOp::Allreduce, size, n);
        assert_eq!(doubling.volume(), n * (inside * steps + 2 * rest), "{size}");
        assert_eq!(doubling.reduced_bytes(), n * (inside * steps + rest), "{size}");
        let ring = trace(CollectiveAlgorithm::Ring { segment: None }, CollectiveOp::Allreduce, size, n);
        assert_eq!((ring.volume(), ring.reduced_bytes()), (2 * n * (p - 1), n * (p - 1)), "{size}");
        let whole = trace(CollectiveAlgorithm::Rabenseifner(FoldMode::Whole), CollectiveOp::Allreduce, size, n);
        assert_eq!(whole.volume(), 2 * n * (inside - 1) + 2 * n * rest, "{size}");
        assert_eq!(whole.reduced_bytes(), n * (p - 1), "{size}");
        let halves = trace(CollectiveAlgorithm::Rabenseifner(FoldMode::Halves), CollectiveOp::Allreduce, size, n);
        assert_eq!(2 * halves.volume(), 2 * 2 * n * (inside - 1) + 5 * n * rest, "{size}");
        assert_eq!(halves.reduced_bytes(), n * (p - 1), "{size}");
    }
}

#[test]
fn a_segmented_ring_sends_as_much_as_a_plain_one() {
    let segmented = CollectiveAlgorithm::from_name("segmented_ring:8", CollectiveOp::Allreduce).unwrap();
    let (cut, plain) = (
        trace(segmented, CollectiveOp::Allreduce, 5, 203),
        trace(CollectiveAlgorithm::Ring { segment: None }, CollectiveOp::Allreduce, 5, 203),
    );
    assert_eq!((cut.volume(), cut.reduced_bytes()), (plain.volume(), plain.reduced_bytes()));
    assert!(cut.rounds[0].len() > plain.rounds[0].len());
}

#[test]
fn blocks_along_a_binomial_tree_are_sent_once_for_every_level_they_pass() {
    for size in group_sizes().skip(1) {
        let b = 3;
        // A block passes one level for every set bit of its rank.
        let levels: u64 = (0..size).map(|rank| u64::from(rank.count_ones())).sum();
        assert_eq!(trace(CollectiveAlgorithm::tree(TreeShape::Binomial), CollectiveOp::Gather, size, b).volume(), b * levels);
        assert_eq!(trace(CollectiveAlgorithm::tree(TreeShape::Binomial), CollectiveOp::Scatter, size, b).volume(), b * levels);
        assert_eq!(trace(CollectiveAlgorithm::tree(TreeShape::Linear), CollectiveOp::Gather, size, b).volume(), b * u64::from(size - 1));
        assert_eq!(trace(CollectiveAlgorithm::LinearSync, CollectiveOp::Gather, size, b).volume(), b * u64::from(size - 1));
        // With a power of two, Rabenseifner's gather is the same.
        if size.is_power_of_two() {
            let (p, n) = (u64::from(size), b * u64::from(size));
            let reduce = trace(CollectiveAlgorithm::Rabenseifner(FoldMode::Whole), CollectiveOp::Reduce, size, n);
            assert_eq!(reduce.volume(), n * (p - 1) + b * levels);
        }
    }
}

#[test]
fn large_broadcasts_scatter_and_gather() {
    for size in group_sizes().skip(1) {
        let (p, b) = (u64::from(size), 3);
        let levels: u64 = (0..size).map(|rank| u64::from(rank.count_ones())).sum();
        let ring = trace(CollectiveAlgorithm::ScatterRing, CollectiveOp::Broadcast, size, b * p);
        assert_eq!(ring.volume(), b * levels + b * p * (p - 1), "{size}");
        let doubling = trace(CollectiveAlgorithm::ScatterAllgather, CollectiveOp::Broadcast, size, b * p);
        assert_eq!(doubling.volume(), ring.volume(), "no rank gets a part twice: {size}");
        let halves = trace(CollectiveAlgorithm::SplitBinary, CollectiveOp::Broadcast, size, 2 * b);
        assert_eq!(halves.volume(), 2 * b * (p - 1), "{size}");
    }
}

#[test]
fn every_rank_gets_every_block_once() {
    use CollectiveAlgorithm::{Bruck, NeighborExchange, RecursiveDoubling, Ring};
    for size in group_sizes().skip(1) {
        let (p, b) = (u64::from(size), 3);
        for algorithm in [Bruck, NeighborExchange, RecursiveDoubling, Ring { segment: None }] {
            assert_eq!(trace(algorithm, CollectiveOp::Allgather, size, b).volume(), b * p * (p - 1), "{algorithm}: {size}");
        }
        for algorithm in [CollectiveAlgorithm::tree(TreeShape::Linear), CollectiveAlgorithm::Pairwise, CollectiveAlgorithm::Scattered] {
            assert_eq!(trace(algorithm, CollectiveOp::Alltoall, size, b).volume(), b * p * (p - 1), "{algorithm}: {size}");
        }
        // A block takes one hop for every set bit of its distance.
        let steps: u64 = (1..size).map(|distance| u64::from(distance.count_ones())).sum();
        assert_eq!(trace(Bruck, CollectiveOp::Alltoall, size, b).volume(), b * p * steps, "{size}");
    }
}

#[test]
fn a_reduce_scatter_combines_every_block_as_often_as_there_are_others() {
    for size in group_sizes().skip(1) {
        let (p, inside, steps, rest) = numbers(size);
        let b = 3;
        for algorithm in [
            CollectiveAlgorithm::Ring { segment: None },
            CollectiveAlgorithm::Pairwise,
            CollectiveAlgorithm::RecursiveHalving,
            CollectiveAlgorithm::Butterfly,
        ] {
            assert_eq!(trace(algorithm, CollectiveOp::ReduceScatter, size, b).reduced_bytes(), b * p * (p - 1), "{algorithm}: {size}");
        }
        for algorithm in [CollectiveAlgorithm::Ring { segment: None }, CollectiveAlgorithm::Pairwise] {
            assert_eq!(trace(algorithm, CollectiveOp::ReduceScatter, size, b).volume(), b * p * (p - 1), "{algorithm}: {size}");
        }
        if rest == 0 {
            let doubling = trace(CollectiveAlgorithm::RecursiveDoubling, CollectiveOp::ReduceScatter, size, b);
            assert_eq!(doubling.volume(), b * p * (p * steps - (p - 1)), "{size}");
        }
        let halving = trace(CollectiveAlgorithm::RecursiveHalving, CollectiveOp::ReduceScatter, size, b);
        assert_eq!(halving.volume(), b * p * (inside - 1 + rest) + b * rest, "{size}");
    }
}

#[test]
fn numbers_of_rounds_are_those_of_textbooks() {
    let rounds = |name: &str, op, size| {
        let algorithm = CollectiveAlgorithm::from_name(name, op).unwrap();
        let trace = trace(algorithm, op, size, 64);
        trace.rounds.iter().map(Vec::len).max().unwrap_or(0)
    };
    assert_eq!(rounds("dissemination", CollectiveOp::Barrier, 33), 6);
    assert_eq!(rounds("recursive_doubling", CollectiveOp::Allreduce, 32), 5);
    assert_eq!(rounds("recursive_doubling", CollectiveOp::Allreduce, 33), 7);
    assert_eq!(rounds("ring", CollectiveOp::Allreduce, 20), 38);
    assert_eq!(rounds("rabenseifner", CollectiveOp::Allreduce, 16), 8);
    assert_eq!(rounds("neighbor_exchange", CollectiveOp::Allgather, 20), 10);
    assert_eq!(rounds("pairwise", CollectiveOp::Alltoall, 20), 19);
    assert_eq!(rounds("bruck", CollectiveOp::Alltoall, 20), 5);
    assert_eq!(rounds("scattered", CollectiveOp::Alltoall, 33), 1);
    assert_eq!(rounds("linear", CollectiveOp::Alltoall, 33), 1);
    assert_eq!(rounds("recursive_halving", CollectiveOp::ReduceScatter, 32), 5);
}
