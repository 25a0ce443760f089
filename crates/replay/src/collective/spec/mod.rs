//! What every algorithm has to keep: both ends of a message agree, nobody waits for ever, and everyone ends with the data that MPI promises.

mod flow;
mod script;
mod volume;

use std::num::NonZeroU64;

use sintonia_mpi::Pattern;

use super::algorithm::{Algorithm, Shape};
use super::{Party, operation};
use flow::Flow;
use script::Script;

/// Groups of these sizes: all small ones, and those around a power of two.
fn sizes() -> impl Iterator<Item = u32> {
    (1..=20).chain([31, 32, 33])
}

/// The roots that make a difference: the ends, one in between that is even and one that is odd.
fn roots(pattern: Pattern, size: u32) -> Vec<u32> {
    use Pattern::*;
    let mut roots = match pattern {
        Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv if size <= 7 => (0..size).collect(),
        Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv => vec![0, 1, size / 2, size / 2 + 1, size - 1],
        _ => vec![0],
    };
    roots.dedup();
    roots
}

/// Every algorithm for an operation, trees as pairs and small segments included.
fn algorithms(pattern: Pattern) -> impl Iterator<Item = Algorithm> {
    let downs = [Shape::Linear, Shape::Binomial, Shape::Knomial];
    let pairs = Shape::ALL.into_iter().flat_map(move |up| downs.map(|down| Algorithm::Trees { up, down }));
    let cut = Shape::ALL.map(|shape| Algorithm::Tree { shape, segment: NonZeroU64::new(5) });
    let rings = [1, 3].map(|segment| Algorithm::Ring { segment: NonZeroU64::new(segment) });
    Algorithm::kinds().chain(pairs).chain(cut).chain(rings).filter(move |algorithm| algorithm.fits(pattern))
}

/// Sizes of vectors and blocks: none, fewer bytes than members, more.
const BYTES: [u64; 3] = [0, 7, 37];

/// One of each kind: operations with blocks of different sizes go as those with equal ones, which a test shows.
const KINDS: [Pattern; 11] = {
    use Pattern::*;
    [Barrier, Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, Alltoall, ReduceScatter, ReduceScatterBlock, Scan]
};

/// Does something for every algorithm in every group.
fn for_all(patterns: impl IntoIterator<Item = Pattern>, check: impl Fn(&Script, &str)) {
    for pattern in patterns {
        for algorithm in algorithms(pattern) {
            for size in sizes() {
                for root in roots(pattern, size) {
                    for bytes in BYTES {
                        let script = Script::of(algorithm, pattern, size, root, bytes);
                        check(&script, &format!("{} by {algorithm}, {size} members, root {root}, {bytes} bytes", operation::name(pattern)));
                    }
                }
            }
        }
    }
}

#[test]
fn what_one_member_sends_another_receives_in_the_same_order_and_size() {
    for_all(KINDS, |script, case| script.matched(case).for_each(|_| ()));
}

#[test]
fn nobody_waits_for_ever_even_if_no_message_leaves_before_it_is_received() {
    for_all(KINDS, |script, case| script.run(case, |_, _| ()));
}

#[test]
fn everyone_ends_with_what_mpi_promises() {
    use Pattern::*;
    let moving_data = [Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, ReduceScatter, ReduceScatterBlock];
    for_all(moving_data, |script, case| {
        let mut flow = Flow::new(script);
        script.run(case, |member, event| flow.happen(member, event, case));
        flow.has_kept_the_promise(case);
    });
}

#[test]
fn nobody_leaves_a_barrier_before_everyone_has_come() {
    for_all([Pattern::Barrier], |script, case| {
        let heard = flow::heard(script, case);
        let all = flow::everyone(script.size);
        assert!(heard.iter().all(|heard| *heard == all), "{case}: {heard:x?}");
    });
}

#[test]
fn a_scan_has_the_vectors_of_those_before_each_of_them_once() {
    for_all([Pattern::Scan, Pattern::Exscan], flow::scan);
}

#[test]
fn every_block_of_an_alltoall_gets_where_it_is_for() {
    for_all([Pattern::Alltoall], flow::alltoall);
}

#[test]
fn blocks_of_different_sizes_go_the_way_of_equal_ones() {
    use Pattern::*;
    let alike = [(Gather, Gatherv), (Scatter, Scatterv), (Allgather, Allgatherv), (Alltoall, Alltoallv), (Alltoall, Alltoallw)];
    for (equal, different) in alike {
        for algorithm in algorithms(different) {
            let pages = |pattern| Script::of(algorithm, pattern, 11, 0, 8).pages;
            assert_eq!(pages(equal), pages(different), "{algorithm}");
        }
    }
}

#[test]
fn a_round_that_is_used_again_has_nothing_of_the_last_one() {
    let party = Party { size: 6, here: 1, root: 0, bytes: 40 };
    let mut used = super::Round { combines: 9, ..super::Round::default() };
    used.sends.push(super::Part { peer: 3, bytes: 1 });
    for algorithm in algorithms(Pattern::Allreduce) {
        for index in 0..40 {
            let mut fresh = super::Round::default();
            let there_is_one = super::round(algorithm, Pattern::Allreduce, &party, index, &mut fresh);
            assert_eq!(super::round(algorithm, Pattern::Allreduce, &party, index, &mut used), there_is_one);
            assert_eq!(used, fresh, "{algorithm}");
            assert!(there_is_one || fresh == super::Round::default());
        }
    }
}

#[test]
fn an_algorithm_that_does_not_fit_has_no_rounds() {
    let party = Party { size: 8, here: 1, root: 0, bytes: 40 };
    for pattern in Pattern::ALL {
        for algorithm in Algorithm::kinds().filter(|algorithm| !algorithm.fits(pattern)) {
            assert!(!super::round(algorithm, pattern, &party, 0, &mut super::Round::default()), "{pattern:?} by {algorithm}");
        }
    }
}

#[test]
fn who_is_no_member_does_nothing() {
    for (size, here, root) in [(0, 0, 0), (1, 0, 0), (4, 4, 0), (4, 0, 4), (4, u32::MAX, u32::MAX)] {
        for pattern in operation::all() {
            for algorithm in algorithms(pattern) {
                let party = Party { size, here, root, bytes: 8 };
                assert!(!super::round(algorithm, pattern, &party, 0, &mut super::Round::default()), "{pattern:?} by {algorithm}");
            }
        }
    }
}

#[test]
fn a_million_members_and_vectors_of_any_size_are_no_problem() {
    for pattern in operation::all() {
        for algorithm in Algorithm::kinds().filter(|algorithm| algorithm.fits(pattern)) {
            for here in [0, 1, 524_288, 999_998] {
                for index in [0, 1, 2, 19, 20, 40, u32::MAX] {
                    let party = Party { size: 1_000_000, here, root: 999_999, bytes: u64::MAX };
                    let mut round = super::Round::default();
                    super::round(algorithm, pattern, &party, index, &mut round);
                    let peers = round.sends.iter().chain(&round.receives).map(|part| part.peer);
                    assert!(peers.into_iter().all(|peer| peer < party.size && peer != here), "{pattern:?} by {algorithm}");
                }
            }
        }
    }
}
