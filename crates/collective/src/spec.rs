//! Properties that every algorithm must have: sends match receives, no deadlock, and every rank ends with the data that MPI specifies.

mod contributions;
mod trace;
mod volume;

use std::num::NonZeroU64;

use sintonia_mpi::CollectiveOp;

use crate::algorithm::{CollectiveAlgorithm, TreeShape};
use crate::{CollectiveRound, LibraryRules, Participant, RoundMessage, choose_algorithm, fill_round, op_names};
use trace::CollectiveTrace;

/// All small group sizes, and those around a power of two.
fn group_sizes() -> impl Iterator<Item = u32> {
    (1..=20).chain([31, 32, 33])
}

/// Roots worth testing: the first and last rank, an even and an odd one in between.
fn roots(op: CollectiveOp, size: u32) -> Vec<u32> {
    use CollectiveOp::*;
    let mut roots = match op {
        Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv if size <= 7 => (0..size).collect(),
        Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv => vec![0, 1, size / 2, size / 2 + 1, size - 1],
        _ => vec![0],
    };
    roots.dedup();
    roots
}

/// Every algorithm of a collective, including pairs of trees and small segments.
fn algorithms(op: CollectiveOp) -> impl Iterator<Item = CollectiveAlgorithm> {
    let downs = [TreeShape::Linear, TreeShape::Binomial, TreeShape::Knomial];
    let pairs = TreeShape::ALL.into_iter().flat_map(move |up| downs.map(|down| CollectiveAlgorithm::Trees { up, down }));
    let cut = TreeShape::ALL.map(|shape| CollectiveAlgorithm::Tree { shape, segment: NonZeroU64::new(5) });
    let rings = [1, 3].map(|segment| CollectiveAlgorithm::Ring { segment: NonZeroU64::new(segment) });
    CollectiveAlgorithm::variants().chain(pairs).chain(cut).chain(rings).filter(move |algorithm| algorithm.supports(op))
}

/// Vector and block sizes: empty, less than one byte per rank, more.
const BYTES: [u64; 3] = [0, 7, 37];

/// One of each kind; a test shows that the v-variants behave like these.
const TESTED_OPS: [CollectiveOp; 11] = {
    use CollectiveOp::*;
    [Barrier, Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, Alltoall, ReduceScatter, ReduceScatterBlock, Scan]
};

/// Runs a check for every algorithm, group size, root and message size.
fn for_all(ops: impl IntoIterator<Item = CollectiveOp>, check: impl Fn(&CollectiveTrace, &str)) {
    for op in ops {
        for algorithm in algorithms(op) {
            for size in group_sizes() {
                for root in roots(op, size) {
                    for bytes in BYTES {
                        let trace = CollectiveTrace::new(algorithm, op, size, root, bytes);
                        check(&trace, &format!("{} by {algorithm}, {size} members, root {root}, {bytes} bytes", op_names::name(op)));
                    }
                }
            }
        }
    }
}

#[test]
fn what_one_member_sends_another_receives_in_the_same_order_and_size() {
    for_all(TESTED_OPS, |trace, case| trace.matched_messages(case).for_each(|_| ()));
}

#[test]
fn no_deadlock_even_if_all_sends_are_synchronous() {
    for_all(TESTED_OPS, |trace, case| trace.run(case, |_, _| ()));
}

#[test]
fn every_rank_ends_with_the_data_that_mpi_specifies() {
    use CollectiveOp::*;
    let moving_data = [Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, ReduceScatter, ReduceScatterBlock];
    for_all(moving_data, contributions::check_result);
}

#[test]
fn no_rank_leaves_a_barrier_before_all_have_arrived() {
    for_all([CollectiveOp::Barrier], contributions::check_barrier);
}

#[test]
fn a_scan_has_the_vectors_of_those_before_each_of_them_once() {
    for_all([CollectiveOp::Scan, CollectiveOp::Exscan], contributions::check_scan);
}

#[test]
fn every_block_of_an_alltoall_gets_where_it_is_for() {
    for_all([CollectiveOp::Alltoall], contributions::check_alltoall);
}

/// Checks that the data gets where MPI promises, whichever collective it is.
fn assert_data_movement(trace: &CollectiveTrace, case: &str) {
    use CollectiveOp::*;
    match trace.op {
        Barrier => contributions::check_barrier(trace, case),
        Scan | Exscan => contributions::check_scan(trace, case),
        Alltoall | Alltoallv | Alltoallw => contributions::check_alltoall(trace, case),
        _ => contributions::check_result(trace, case),
    }
}

#[test]
fn whatever_a_library_selects_moves_the_data_that_mpi_specifies() {
    let libraries = ["Open MPI 4.1.4", "MPICH 4.0.2", "Intel(R) MPI Library 2021.9", ""];
    for (library, op) in libraries.into_iter().flat_map(|library| op_names::selectable_ops().map(move |op| (library, op))) {
        for (size, root) in
            [1, 2, 3, 4, 5, 7, 8, 16, 17].into_iter().flat_map(|size| roots(op, size).into_iter().map(move |root| (size, root)))
        {
            for bytes in [0, 1, 8, 100, 1_000, 3_000, 10_000, 40_000, 100_000, 600_000, 2_000_000] {
                let bytes = if op == CollectiveOp::Barrier { 0 } else { bytes };
                let algorithm = choose_algorithm(LibraryRules::from_version_string(library), op, size, bytes).expect("it has rules");
                let case = format!("{library}: {} by {algorithm}, {size} members, root {root}, {bytes} bytes", op_names::name(op));
                CollectiveTrace::new(algorithm, op, size, root, bytes).run(&case, |_, _| ());
                // Contributions are tracked for every byte, so the data is a small excerpt of large vectors.
                assert_data_movement(&CollectiveTrace::new(algorithm, op, size, root, bytes.min(37)), &case);
            }
        }
    }
}

#[test]
fn v_variants_send_the_same_messages_as_equal_blocks() {
    use CollectiveOp::*;
    let alike = [(Gather, Gatherv), (Scatter, Scatterv), (Allgather, Allgatherv), (Alltoall, Alltoallv), (Alltoall, Alltoallw)];
    for (equal, different) in alike {
        for algorithm in algorithms(different) {
            let rounds = |op| CollectiveTrace::new(algorithm, op, 11, 0, 8).rounds;
            assert_eq!(rounds(equal), rounds(different), "{algorithm}");
        }
    }
}

#[test]
fn a_round_that_is_used_again_has_nothing_of_the_last_one() {
    let participant = Participant { size: 6, rank: 1, root: 0, bytes: 40 };
    let mut used = CollectiveRound { reduced_bytes: 9, ..CollectiveRound::default() };
    used.sends.push(RoundMessage { peer: 3, bytes: 1 });
    for algorithm in algorithms(CollectiveOp::Allreduce) {
        for index in 0..40 {
            let mut fresh = CollectiveRound::default();
            let there_is_one = fill_round(algorithm, CollectiveOp::Allreduce, &participant, index, &mut fresh);
            assert_eq!(fill_round(algorithm, CollectiveOp::Allreduce, &participant, index, &mut used), there_is_one);
            assert_eq!(used, fresh, "{algorithm}");
            assert!(there_is_one || fresh == CollectiveRound::default());
        }
    }
}

#[test]
fn an_algorithm_that_does_not_fit_has_no_rounds() {
    let participant = Participant { size: 8, rank: 1, root: 0, bytes: 40 };
    for op in CollectiveOp::ALL {
        for algorithm in CollectiveAlgorithm::variants().filter(|algorithm| !algorithm.supports(op)) {
            assert!(!fill_round(algorithm, op, &participant, 0, &mut CollectiveRound::default()), "{op:?} by {algorithm}");
        }
    }
}

#[test]
fn ranks_outside_the_group_have_no_rounds() {
    for (size, rank, root) in [(0, 0, 0), (1, 0, 0), (4, 4, 0), (4, 0, 4), (4, u32::MAX, u32::MAX)] {
        for op in op_names::selectable_ops() {
            for algorithm in algorithms(op) {
                let participant = Participant { size, rank, root, bytes: 8 };
                assert!(!fill_round(algorithm, op, &participant, 0, &mut CollectiveRound::default()), "{op:?} by {algorithm}");
            }
        }
    }
}

#[test]
fn a_million_members_and_vectors_of_any_size_are_no_problem() {
    for op in op_names::selectable_ops() {
        for algorithm in CollectiveAlgorithm::variants().filter(|algorithm| algorithm.supports(op)) {
            for rank in [0, 1, 524_288, 999_998] {
                for index in [0, 1, 2, 19, 20, 40, u32::MAX] {
                    let participant = Participant { size: 1_000_000, rank, root: 999_999, bytes: u64::MAX };
                    let mut round = CollectiveRound::default();
                    fill_round(algorithm, op, &participant, index, &mut round);
                    let peers = round.sends.iter().chain(&round.receives).map(|part| part.peer);
                    assert!(peers.into_iter().all(|peer| peer < participant.size && peer != rank), "{op:?} by {algorithm}");
                }
            }
        }
    }
}
