//! What METIS and Scotch make of graphs, where they are installed.

use super::*;
use crate::graph::Edge;
use crate::hierarchy::Level;
use crate::mapping::byte_distance;

/// A square of ranks that exchange with their neighbours, in an order that says nothing.
fn shuffled_square(side: u32, weight: u64) -> Graph {
    let ranks = side * side;
    // Odd and prime to the sides used here, so that every rank has one name.
    let name = |row: u32, column: u32| (row * side + column) * 37 % ranks;
    let mut edges = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let mut exchange = |other| edges.push(Edge { ranks: [name(row, column), other], there: weight, back: weight });
            if row + 1 < side {
                exchange(name(row + 1, column));
            }
            if column + 1 < side {
                exchange(name(row, column + 1));
            }
        }
    }
    Graph::new(vec![1; ranks as usize], &edges)
}

fn unequal_hosts() -> Hierarchy {
    let whole = Level { starts: vec![0, 64], distance: 20.0 };
    let hosts = Level { starts: vec![0, 24, 32, 52, 64], distance: 4.0 };
    let sockets = Level { starts: vec![0, 12, 24, 32, 42, 52, 58, 64], distance: 1.0 };
    Hierarchy::new(vec![whole, hosts, sockets])
}

fn for_each_installed(check: impl Fn(Library)) {
    let found = Library::find();
    if found.is_empty() {
        println!("skipped: neither METIS nor Scotch is installed");
    }
    found.into_iter().for_each(check);
}

fn is_one_to_one(placement: &Placement, slots: u32) -> bool {
    let mut taken: Vec<u32> = placement.0.clone();
    taken.sort_unstable();
    taken.windows(2).all(|pair| pair[0] < pair[1]) && taken.last().is_none_or(|last| *last < slots)
}

/// Places and says by how much that is better than the order of the ranks.
fn gain(library: Library, graph: &Graph, hierarchy: &Hierarchy) -> f64 {
    let placement = library.place(graph, hierarchy).unwrap_or_else(|error| panic!("{}: {error}", library.name()));
    assert_eq!(placement.0.len(), graph.ranks());
    assert!(is_one_to_one(&placement, hierarchy.slots()), "{}: {placement:?}", library.name());
    let in_order = Placement::by_core(graph.ranks() as u32);
    byte_distance(graph, hierarchy, &in_order) / byte_distance(graph, hierarchy, &placement)
}

#[test]
fn neighbours_come_together_on_hosts_that_are_alike() {
    let hosts = Hierarchy::uniform(&[(4, 20.0), (2, 2.0), (8, 1.0)]);
    for_each_installed(|library| assert!(gain(library, &shuffled_square(8, 1000), &hosts) > 2.0));
}

#[test]
fn neighbours_come_together_on_hosts_that_differ() {
    for_each_installed(|library| assert!(gain(library, &shuffled_square(8, 1000), &unequal_hosts()) > 1.8));
}

#[test]
fn there_may_be_more_slots_than_ranks() {
    let hosts = Hierarchy::uniform(&[(8, 20.0), (10, 1.0)]);
    for_each_installed(|library| assert!(gain(library, &shuffled_square(8, 1000), &hosts) > 1.8));
}

#[test]
fn weights_beyond_32_bits_are_as_good_as_others() {
    let hosts = Hierarchy::uniform(&[(4, 20.0), (16, 1.0)]);
    for_each_installed(|library| {
        let [small, large] = [1, 1 << 50].map(|weight| gain(library, &shuffled_square(8, weight), &hosts));
        assert!(large > 0.9 * small, "{}: {small} {large}", library.name());
    });
}

#[test]
fn ranks_that_exchange_nothing_and_a_single_slot_are_placed() {
    let lonely = |ranks| Graph::new(vec![1; ranks], &[]);
    for_each_installed(|library| {
        let hosts = Hierarchy::uniform(&[(2, 5.0), (2, 1.0)]);
        assert!(is_one_to_one(&library.place(&lonely(3), &hosts).unwrap(), 4));
        assert_eq!(library.place(&lonely(1), &Hierarchy::uniform(&[(1, 1.0)])).unwrap().0, [0]);
    });
}

#[test]
fn more_ranks_than_slots_are_refused() {
    for_each_installed(|library| {
        let error = library.place(&shuffled_square(8, 1), &Hierarchy::uniform(&[(2, 5.0), (2, 1.0)])).unwrap_err();
        assert_eq!(error.to_string(), "there are 64 ranks for 4 slots");
    });
}

#[test]
fn a_gmap_is_asked_whether_it_is_that_of_scotch() {
    let shell = program::find("sh").expect("there is a shell");
    assert!(!is_of_scotch(&shell));
    if let Some(of_debian) = program::find("scotch_gmap") {
        assert!(is_of_scotch(&of_debian));
    }
}
