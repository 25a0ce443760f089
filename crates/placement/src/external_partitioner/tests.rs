//! METIS and Scotch on small graphs, if they are installed.

use super::*;
use crate::graph::ExchangeEdge;
use crate::hierarchy::HierarchyLevel;
use crate::mapping::byte_distance;

/// A square grid of ranks in scrambled order.
fn shuffled_square(side: u32, weight: u64) -> RankGraph {
    let ranks = side * side;
    // Odd and coprime to the sides used here, so that every rank has a unique name.
    let name = |row: u32, column: u32| (row * side + column) * 37 % ranks;
    let mut edges = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let mut exchange = |other| edges.push(ExchangeEdge { ranks: [name(row, column), other], forward: weight, backward: weight });
            if row + 1 < side {
                exchange(name(row + 1, column));
            }
            if column + 1 < side {
                exchange(name(row, column + 1));
            }
        }
    }
    RankGraph::new(vec![1; ranks as usize], &edges)
}

fn unequal_hosts() -> SlotHierarchy {
    let whole = HierarchyLevel { starts: vec![0, 64], distance: 20.0 };
    let hosts = HierarchyLevel { starts: vec![0, 24, 32, 52, 64], distance: 4.0 };
    let sockets = HierarchyLevel { starts: vec![0, 12, 24, 32, 42, 52, 58, 64], distance: 1.0 };
    SlotHierarchy::new(vec![whole, hosts, sockets])
}

fn for_each_installed(check: impl Fn(ExternalPartitioner)) {
    let found = ExternalPartitioner::installed();
    if found.is_empty() {
        sintonia_test_report::skipped("neither METIS nor Scotch is installed");
    }
    found.into_iter().for_each(check);
}

fn is_one_to_one(placement: &Placement, slots: u32) -> bool {
    let mut taken: Vec<u32> = placement.0.clone();
    taken.sort_unstable();
    taken.windows(2).all(|pair| pair[0] < pair[1]) && taken.last().is_none_or(|last| *last < slots)
}

/// The cost of a placement relative to the order of the ranks.
fn gain(library: ExternalPartitioner, graph: &RankGraph, hierarchy: &SlotHierarchy) -> f64 {
    let placement = library.place(graph, hierarchy).unwrap_or_else(|error| panic!("{}: {error}", library.name()));
    assert_eq!(placement.0.len(), graph.rank_count());
    assert!(is_one_to_one(&placement, hierarchy.slot_count()), "{}: {placement:?}", library.name());
    let in_order = Placement::by_core(graph.rank_count() as u32);
    byte_distance(graph, hierarchy, &in_order) / byte_distance(graph, hierarchy, &placement)
}

#[test]
fn neighbours_come_together_on_hosts_that_are_alike() {
    let hosts = SlotHierarchy::uniform(&[(4, 20.0), (2, 2.0), (8, 1.0)]);
    for_each_installed(|library| assert!(gain(library, &shuffled_square(8, 1000), &hosts) > 2.0));
}

#[test]
fn neighbours_come_together_on_hosts_that_differ() {
    for_each_installed(|library| assert!(gain(library, &shuffled_square(8, 1000), &unequal_hosts()) > 1.8));
}

#[test]
fn there_may_be_more_slots_than_ranks() {
    let hosts = SlotHierarchy::uniform(&[(8, 20.0), (10, 1.0)]);
    for_each_installed(|library| assert!(gain(library, &shuffled_square(8, 1000), &hosts) > 1.8));
}

#[test]
fn weights_beyond_32_bits_are_as_good_as_others() {
    let hosts = SlotHierarchy::uniform(&[(4, 20.0), (16, 1.0)]);
    for_each_installed(|library| {
        let [small, large] = [1, 1 << 50].map(|weight| gain(library, &shuffled_square(8, weight), &hosts));
        assert!(large > 0.9 * small, "{}: {small} {large}", library.name());
    });
}

#[test]
fn ranks_that_exchange_nothing_and_a_single_slot_are_placed() {
    let lonely = |ranks| RankGraph::new(vec![1; ranks], &[]);
    for_each_installed(|library| {
        let hosts = SlotHierarchy::uniform(&[(2, 5.0), (2, 1.0)]);
        assert!(is_one_to_one(&library.place(&lonely(3), &hosts).unwrap(), 4));
        assert_eq!(library.place(&lonely(1), &SlotHierarchy::uniform(&[(1, 1.0)])).unwrap().0, [0]);
    });
}

#[test]
fn more_ranks_than_slots_are_refused() {
    for_each_installed(|library| {
        let error = library.place(&shuffled_square(8, 1), &SlotHierarchy::uniform(&[(2, 5.0), (2, 1.0)])).unwrap_err();
        assert_eq!(error.to_string(), "64 ranks for 4 slots");
    });
}

#[test]
fn a_gmap_is_asked_whether_it_is_that_of_scotch() {
    let shell = subprocess::find_in_path("sh").expect("there is a shell");
    assert!(!is_scotch(&shell));
    if let Some(of_debian) = subprocess::find_in_path("scotch_gmap") {
        assert!(is_scotch(&of_debian));
    }
}
