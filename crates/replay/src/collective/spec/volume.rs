//! How much is sent and combined, against the formulas of textbooks: p members, n bytes of a vector or b of a block.

use sintonia_mpi::Pattern;

use super::super::algorithm::{Algorithm, Folding, Shape};
use super::{Script, sizes};

const ROOT: u32 = 0;

fn script(algorithm: Algorithm, pattern: Pattern, size: u32, bytes: u64) -> Script {
    assert!(algorithm.fits(pattern));
    Script::of(algorithm, pattern, size, ROOT, bytes)
}

/// Members, the largest power of two among them and its exponent, and the rest.
fn numbers(size: u32) -> (u64, u64, u64, u64) {
    let steps = u64::from(size.ilog2());
    let inside = 1 << steps;
    (size.into(), inside, steps, u64::from(size) - inside)
}

#[test]
fn along_a_tree_everyone_but_the_root_gets_the_vector_once() {
    for size in sizes() {
        let n = 90;
        for shape in Shape::ALL.into_iter().filter(|shape| *shape != Shape::InOrderBinary) {
            let down = script(Algorithm::tree(shape), Pattern::Broadcast, size, n);
            let up = script(Algorithm::tree(shape), Pattern::Reduce, size, n);
            let both = script(Algorithm::tree(shape), Pattern::Allreduce, size, n);
            let once = n * u64::from(size - 1);
            assert_eq!((down.volume(), down.computed()), (once, 0), "{shape:?}");
            assert_eq!((up.volume(), up.computed()), (once, once), "{shape:?}");
            assert_eq!((both.volume(), both.computed()), (2 * once, once), "{shape:?}");
        }
        // The top of the tree in order hands its result to the root.
        let in_order = script(Algorithm::tree(Shape::InOrderBinary), Pattern::Reduce, size, n);
        assert_eq!(in_order.volume(), n * u64::from(size - 1) + if size > 1 { n } else { 0 });
    }
}

#[test]
fn segments_change_the_number_of_messages_but_not_the_bytes() {
    let cut = Algorithm::named("chain:10", Pattern::Broadcast).unwrap();
    let script = script(cut, Pattern::Broadcast, 5, 95);
    assert_eq!(script.volume(), 4 * 95);
    assert_eq!(script.matched("").count(), 4 * 10);
    assert!(script.matched("").all(|message| message.piece.bytes <= 10));
}

#[test]
fn the_allreduces_send_what_is_known_of_them() {
    for size in sizes().skip(1) {
        let (p, inside, steps, rest) = numbers(size);
        let n = 2 * p * inside;
        let doubling = script(Algorithm::RecursiveDoubling, Pattern::Allreduce, size, n);
        assert_eq!(doubling.volume(), n * (inside * steps + 2 * rest), "{size}");
        assert_eq!(doubling.computed(), n * (inside * steps + rest), "{size}");
        let ring = script(Algorithm::Ring { segment: None }, Pattern::Allreduce, size, n);
        assert_eq!((ring.volume(), ring.computed()), (2 * n * (p - 1), n * (p - 1)), "{size}");
        let whole = script(Algorithm::Rabenseifner(Folding::Whole), Pattern::Allreduce, size, n);
        assert_eq!(whole.volume(), 2 * n * (inside - 1) + 2 * n * rest, "{size}");
        assert_eq!(whole.computed(), n * (p - 1), "{size}");
        let halves = script(Algorithm::Rabenseifner(Folding::Halves), Pattern::Allreduce, size, n);
        assert_eq!(2 * halves.volume(), 2 * 2 * n * (inside - 1) + 5 * n * rest, "{size}");
        assert_eq!(halves.computed(), n * (p - 1), "{size}");
    }
}

#[test]
fn a_segmented_ring_sends_as_much_as_a_plain_one() {
    let segmented = Algorithm::named("segmented_ring:8", Pattern::Allreduce).unwrap();
    let (cut, plain) =
        (script(segmented, Pattern::Allreduce, 5, 203), script(Algorithm::Ring { segment: None }, Pattern::Allreduce, 5, 203));
    assert_eq!((cut.volume(), cut.computed()), (plain.volume(), plain.computed()));
    assert!(cut.pages[0].len() > plain.pages[0].len());
}

#[test]
fn blocks_along_a_binomial_tree_are_sent_once_for_every_level_they_pass() {
    for size in sizes().skip(1) {
        let b = 3;
        // A block passes as many levels as its place has bits that are 1.
        let levels: u64 = (0..size).map(|place| u64::from(place.count_ones())).sum();
        assert_eq!(script(Algorithm::tree(Shape::Binomial), Pattern::Gather, size, b).volume(), b * levels);
        assert_eq!(script(Algorithm::tree(Shape::Binomial), Pattern::Scatter, size, b).volume(), b * levels);
        assert_eq!(script(Algorithm::tree(Shape::Linear), Pattern::Gather, size, b).volume(), b * u64::from(size - 1));
        assert_eq!(script(Algorithm::LinearSync, Pattern::Gather, size, b).volume(), b * u64::from(size - 1));
        // With a power of two, Rabenseifner's reduction gathers just so.
        if size.is_power_of_two() {
            let (p, n) = (u64::from(size), b * u64::from(size));
            let reduce = script(Algorithm::Rabenseifner(Folding::Whole), Pattern::Reduce, size, n);
            assert_eq!(reduce.volume(), n * (p - 1) + b * levels);
        }
    }
}

#[test]
fn large_broadcasts_scatter_and_gather() {
    for size in sizes().skip(1) {
        let (p, b) = (u64::from(size), 3);
        let levels: u64 = (0..size).map(|place| u64::from(place.count_ones())).sum();
        let ring = script(Algorithm::ScatterRing, Pattern::Broadcast, size, b * p);
        assert_eq!(ring.volume(), b * levels + b * p * (p - 1), "{size}");
        let doubling = script(Algorithm::ScatterAllgather, Pattern::Broadcast, size, b * p);
        assert_eq!(doubling.volume(), ring.volume(), "nobody gets a part twice: {size}");
        let halves = script(Algorithm::SplitBinary, Pattern::Broadcast, size, 2 * b);
        assert_eq!(halves.volume(), 2 * b * (p - 1), "{size}");
    }
}

#[test]
fn everyone_gets_every_block_once() {
    use Algorithm::{Bruck, NeighborExchange, RecursiveDoubling, Ring};
    for size in sizes().skip(1) {
        let (p, b) = (u64::from(size), 3);
        for algorithm in [Bruck, NeighborExchange, RecursiveDoubling, Ring { segment: None }] {
            assert_eq!(script(algorithm, Pattern::Allgather, size, b).volume(), b * p * (p - 1), "{algorithm}: {size}");
        }
        for algorithm in [Algorithm::tree(Shape::Linear), Algorithm::Pairwise, Algorithm::Scattered] {
            assert_eq!(script(algorithm, Pattern::Alltoall, size, b).volume(), b * p * (p - 1), "{algorithm}: {size}");
        }
        // A block goes one step for each bit of its way that is 1.
        let steps: u64 = (1..size).map(|way| u64::from(way.count_ones())).sum();
        assert_eq!(script(Bruck, Pattern::Alltoall, size, b).volume(), b * p * steps, "{size}");
    }
}

#[test]
fn a_reduce_scatter_combines_every_block_as_often_as_there_are_others() {
    for size in sizes().skip(1) {
        let (p, inside, steps, rest) = numbers(size);
        let b = 3;
        for algorithm in [Algorithm::Ring { segment: None }, Algorithm::Pairwise, Algorithm::RecursiveHalving, Algorithm::Butterfly] {
            assert_eq!(script(algorithm, Pattern::ReduceScatter, size, b).computed(), b * p * (p - 1), "{algorithm}: {size}");
        }
        for algorithm in [Algorithm::Ring { segment: None }, Algorithm::Pairwise] {
            assert_eq!(script(algorithm, Pattern::ReduceScatter, size, b).volume(), b * p * (p - 1), "{algorithm}: {size}");
        }
        if rest == 0 {
            let doubling = script(Algorithm::RecursiveDoubling, Pattern::ReduceScatter, size, b);
            assert_eq!(doubling.volume(), b * p * (p * steps - (p - 1)), "{size}");
        }
        let halving = script(Algorithm::RecursiveHalving, Pattern::ReduceScatter, size, b);
        assert_eq!(halving.volume(), b * p * (inside - 1 + rest) + b * rest, "{size}");
    }
}

#[test]
fn numbers_of_rounds_are_those_of_textbooks() {
    let rounds = |name: &str, pattern, size| {
        let algorithm = Algorithm::named(name, pattern).unwrap();
        let script = script(algorithm, pattern, size, 64);
        script.pages.iter().map(Vec::len).max().unwrap_or(0)
    };
    assert_eq!(rounds("dissemination", Pattern::Barrier, 33), 6);
    assert_eq!(rounds("recursive_doubling", Pattern::Allreduce, 32), 5);
    assert_eq!(rounds("recursive_doubling", Pattern::Allreduce, 33), 7);
    assert_eq!(rounds("ring", Pattern::Allreduce, 20), 38);
    assert_eq!(rounds("rabenseifner", Pattern::Allreduce, 16), 8);
    assert_eq!(rounds("neighbor_exchange", Pattern::Allgather, 20), 10);
    assert_eq!(rounds("pairwise", Pattern::Alltoall, 20), 19);
    assert_eq!(rounds("bruck", Pattern::Alltoall, 20), 5);
    assert_eq!(rounds("scattered", Pattern::Alltoall, 33), 1);
    assert_eq!(rounds("linear", Pattern::Alltoall, 33), 1);
    assert_eq!(rounds("recursive_halving", Pattern::ReduceScatter, 32), 5);
}
