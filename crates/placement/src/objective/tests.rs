//! Costs, worked out by hand.

use std::path::Path;

use sintonia_machine::Machine;

use super::*;
use crate::cluster::{Cluster, Host, SlotDistances};
use crate::graph::ExchangeEdge;

fn cluster(hosts: u32, slots: u32, topology: &str) -> Cluster {
    let text = format!("format = 1\nmachine = {{ name = \"t\" }}\n[topology]\nbandwidth_bytes_per_s = 100\n{topology}\n");
    Cluster {
        hosts: (0..hosts).map(|_| Host::new("h", slots)).collect(),
        topology: Some(Machine::parse(&text, Path::new("t")).unwrap().topology.unwrap()),
        bytes_per_s: 1.0,
        distances: SlotDistances::default(),
    }
}

fn cost_on(cluster: &Cluster, compute: Vec<u64>, edges: &[ExchangeEdge], placement: &[u32]) -> PlacementCost {
    placement_cost(&RankGraph::new(compute, edges), &Fabric::from_cluster(cluster).unwrap(), &Placement(placement.to_vec()))
}

fn edge(a: u32, b: u32, there: u64, back: u64) -> ExchangeEdge {
    ExchangeEdge { ranks: [a, b], forward: there, backward: back }
}

#[test]
fn at_one_switch_a_link_has_what_its_host_sends_or_receives() {
    let cluster = cluster(2, 2, "kind = \"crossbar\"\nnodes = 2");
    let edges = [edge(0, 1, 1000, 1000), edge(0, 2, 50, 10), edge(1, 3, 200, 0)];
    let cost = cost_on(&cluster, vec![1; 4], &edges, &[0, 1, 2, 3]);
    // Out of the first host 250 bytes, into it 10.
    assert_eq!(cost.busiest_link_s, 2.5);
    assert_eq!(cost.inter_host_bytes, 260);
    assert_eq!(cost.byte_distance, 2000.0 * 1.0 + 260.0 * 10.0);
    assert_eq!(cost.imbalance, 0.0);
}

#[test]
fn on_a_half_duplex_link_both_ways_add_up() {
    let cluster = cluster(2, 1, "kind = \"crossbar\"\nnodes = 2\nduplex = \"half\"");
    assert_eq!(cost_on(&cluster, vec![1; 2], &[edge(0, 1, 50, 10)], &[0, 1]).busiest_link_s, 0.6);
}

#[test]
fn on_a_torus_messages_meet_where_their_ways_do() {
    let cluster = cluster(8, 1, "kind = \"torus\"\ndimensions = [2, 2, 2]");
    // 0 -> 7 goes along the first dimension to 1, then to 3, then to 7; 1 -> 3 and 3 -> 7 share a part of it each.
    let edges = [edge(0, 7, 100, 0), edge(1, 3, 30, 0), edge(3, 7, 60, 0), edge(0, 4, 10, 0)];
    let cost = cost_on(&cluster, vec![1; 8], &edges, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(cost.busiest_link_s, 1.6);
    assert_eq!(cost.byte_distance, 5.0 * (100.0 * 3.0 + 30.0 + 60.0 + 10.0));
}

#[test]
fn in_a_fat_tree_with_one_link_up_all_that_leaves_a_switch_meets_there() {
    let cluster = cluster(4, 1, "kind = \"fat_tree\"\nlevels = [{ down = 2 }, { down = 2 }]");
    let edges = [edge(0, 2, 70, 0), edge(1, 3, 50, 0), edge(0, 1, 20, 0)];
    assert_eq!(cost_on(&cluster, vec![1; 4], &edges, &[0, 1, 2, 3]).busiest_link_s, 1.2);
    assert_eq!(cost_on(&cluster, vec![1; 4], &edges, &[0, 2, 1, 3]).busiest_link_s, 0.9);
}

#[test]
fn imbalance_is_how_much_longer_than_the_mean_the_slowest_host_computes() {
    let mut cluster = cluster(2, 2, "kind = \"crossbar\"\nnodes = 2");
    assert_eq!(cost_on(&cluster, vec![30, 30, 10, 10], &[], &[0, 1, 2, 3]).imbalance, 0.5);
    assert_eq!(cost_on(&cluster, vec![30, 30, 10, 10], &[], &[0, 2, 1, 3]).imbalance, 0.0);
    // An empty slot does not make a host faster.
    assert_eq!(cost_on(&cluster, vec![10, 10, 10], &[], &[0, 1, 2]).imbalance, 0.0);
    cluster.hosts[0].speed = 3.0;
    assert_eq!(cost_on(&cluster, vec![30, 30, 10, 10], &[], &[0, 1, 2, 3]).imbalance, 0.0);
    assert_eq!(cost_on(&cluster, vec![30, 30, 10, 10], &[], &[2, 3, 0, 1]).imbalance, 2.0);
}

const COST: PlacementCost = PlacementCost { busiest_link_s: 2.0, byte_distance: 50.0, inter_host_bytes: 9, imbalance: 0.0 };

#[test]
fn the_objective_decides_first_and_then_the_other() {
    let nearer = PlacementCost { busiest_link_s: 3.0, byte_distance: 40.0, ..COST };
    assert!(COST.is_better(&nearer, PlacementObjective::Congestion) && !nearer.is_better(&COST, PlacementObjective::Congestion));
    assert!(nearer.is_better(&COST, PlacementObjective::ByteDistance) && !COST.is_better(&nearer, PlacementObjective::ByteDistance));
    let same_link = PlacementCost { busiest_link_s: 2.0 + 1e-12, byte_distance: 49.0, ..COST };
    assert!(same_link.is_better(&COST, PlacementObjective::Congestion) && !COST.is_better(&same_link, PlacementObjective::Congestion));
    assert!(!COST.is_better(&COST, PlacementObjective::Congestion));
}

#[test]
fn imbalance_counts_as_much_as_the_objective_beyond_what_is_tolerated() {
    let uneven = |busiest_link_s: f64, imbalance: f64| PlacementCost { busiest_link_s, imbalance, ..COST };
    assert!(uneven(1.9, 0.05).is_better(&COST, PlacementObjective::Congestion));
    assert!(!uneven(1.9, 0.20).is_better(&COST, PlacementObjective::Congestion));
    assert!(uneven(1.7, 0.20).is_better(&COST, PlacementObjective::Congestion));
    assert!(COST.is_better(&uneven(2.0, 0.03), PlacementObjective::Congestion), "at last even a little counts");
}
