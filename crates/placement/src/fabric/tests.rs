//! Links, routes and domains, worked out by hand.

use std::path::Path;

use sintonia_machine::Machine;

use super::*;
use crate::cluster::Placement;
use crate::hierarchy::SlotHierarchy;

/// Hosts with these numbers of slots, with a topology in the syntax of a machine file.
fn cluster(slots: &[u32], topology: &str) -> Cluster {
    let hosts = slots.iter().map(|slots| Host::new("h", *slots)).collect();
    let text = format!("format = 1\nmachine = {{ name = \"t\" }}\n[topology]\nbandwidth_bytes_per_s = 100\n{topology}\n");
    let topology = (!topology.is_empty()).then(|| Machine::parse(&text, Path::new("t")).unwrap().topology.unwrap());
    Cluster { hosts, topology, bytes_per_s: 1e3, distances: SlotDistances::default() }
}

fn route(fabric: &Fabric, from: u32, to: u32) -> Vec<LinkId> {
    fabric.route(from, to, &mut vec![7]).to_vec()
}

fn starts(hierarchy: &SlotHierarchy) -> Vec<&[u32]> {
    hierarchy.levels().iter().map(|level| &level.starts[..]).collect()
}

fn distances(hierarchy: &SlotHierarchy) -> Vec<f64> {
    hierarchy.levels().iter().map(|level| level.distance).collect()
}

#[test]
fn without_a_topology_each_host_has_a_link_out_and_a_link_in() {
    let fabric = Fabric::from_cluster(&cluster(&[2, 2, 2], "")).unwrap();
    assert_eq!(fabric.s_per_byte(), [1e-3; 6]);
    assert_eq!(route(&fabric, 0, 2), [0, 5]);
    assert_eq!(route(&fabric, 2, 0), [4, 1]);
    assert!(route(&fabric, 1, 1).is_empty());
}

#[test]
fn slots_are_as_far_apart_as_what_they_share_and_the_links_between_them_say() {
    let mut cluster = cluster(&[8, 8, 8], "kind = \"mesh\"\ndimensions = [3]");
    cluster.hosts[0] = Host { slots_per_socket: 4, slots_per_complex: 2, ..Host::new("a", 8) };
    let fabric = Fabric::from_cluster(&cluster).unwrap();
    assert_eq!([0, 1, 2, 4, 8, 16].map(|slot| fabric.distance(0, slot)), [0.0, 1.0, 2.0, 4.0, 5.0, 10.0]);
}

#[test]
fn caches_that_do_not_fill_sockets_evenly_do_not_reach_into_the_next() {
    let mut cluster = cluster(&[6], "");
    cluster.hosts[0] = Host { slots_per_socket: 3, slots_per_complex: 2, ..Host::new("a", 6) };
    let fabric = Fabric::from_cluster(&cluster).unwrap();
    assert_eq!([1, 2, 3].map(|slot| fabric.distance(2, slot)), [2.0, 0.0, 4.0]);
    let ordered = fabric.hierarchy(&cluster);
    assert_eq!(starts(&ordered.hierarchy), [&[0, 6][..], &[0, 3, 6], &[0, 2, 3, 5, 6]]);
    assert_eq!(distances(&ordered.hierarchy), [4.0, 2.0, 1.0]);
}

#[test]
fn hosts_at_one_switch_are_domains_of_the_whole() {
    let cluster = cluster(&[2, 0, 3], "");
    let ordered = Fabric::from_cluster(&cluster).unwrap().hierarchy(&cluster);
    assert_eq!(starts(&ordered.hierarchy), [&[0, 5][..], &[0, 2, 5]]);
    assert_eq!(distances(&ordered.hierarchy), [10.0, 1.0]);
    assert_eq!(ordered.slots, [0, 1, 2, 3, 4]);
}

#[test]
fn a_fat_tree_has_its_levels() {
    let cluster = cluster(&[1; 8], "kind = \"fat_tree\"\nlevels = [{ down = 2 }, { down = 2 }, { down = 2 }]");
    let ordered = Fabric::from_cluster(&cluster).unwrap().hierarchy(&cluster);
    assert_eq!(starts(&ordered.hierarchy), [&[0, 8][..], &[0, 4, 8], &[0, 2, 4, 6, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8]]);
    assert_eq!(distances(&ordered.hierarchy)[..3], [30.0, 20.0, 10.0]);
}

#[test]
fn hosts_of_a_torus_are_lined_up_by_halves() {
    let cluster = cluster(&[1, 1, 2, 1, 1, 1, 1, 1], "kind = \"torus\"\ndimensions = [4, 2]");
    let fabric = Fabric::from_cluster(&cluster).unwrap();
    let ordered = fabric.hierarchy(&cluster);
    // Hosts 0, 1, 4, 5 are the left half; host 2 has the slots 2 and 3.
    assert_eq!(ordered.slots, [0, 5, 1, 6, 2, 3, 7, 4, 8]);
    assert_eq!(starts(&ordered.hierarchy)[..3], [&[0, 9][..], &[0, 4, 9], &[0, 2, 4, 7, 9]]);
    let on_leaves = Placement((0..9).collect());
    let placement = ordered.to_slots(&on_leaves);
    assert_eq!(placement.0, ordered.slots);
}

#[test]
fn a_dragonfly_has_groups_and_routers() {
    let cluster = cluster(&[1; 8], "kind = \"dragonfly\"\ngroups = 2\nrouters_per_group = 2\nnodes_per_router = 2");
    let ordered = Fabric::from_cluster(&cluster).unwrap().hierarchy(&cluster);
    assert_eq!(starts(&ordered.hierarchy)[..3], [&[0, 8][..], &[0, 4, 8], &[0, 2, 4, 6, 8]]);
}

#[test]
fn ways_found_when_asked_for_and_beforehand_are_those_of_the_topology() {
    // Routes of 1024 hosts are tabulated, those of 1025 are not.
    for hosts in [1024, 1025] {
        let fabric = Fabric::from_cluster(&cluster(&vec![1; hosts], "kind = \"torus\"\ndimensions = [5, 205]")).unwrap();
        for (from, to, hops) in [(0, 0, 0), (0, 1, 1), (0, 4, 1), (0, 1023, 3), (1023, 0, 3), (7, 511, 102)] {
            assert_eq!((route(&fabric, from, to).len(), fabric.hops(from, to)), (hops, hops as u32), "from {from} to {to}");
        }
        assert_eq!(route(&fabric, 1, 3), [4, 8], "the first dimension's connection of the nodes 1 and 2, upwards");
    }
}

#[test]
fn fewer_hosts_than_places_are_no_problem_and_more_are() {
    let some = cluster(&[2, 2, 2], "kind = \"torus\"\ndimensions = [2, 2]");
    assert_eq!(Fabric::from_cluster(&some).unwrap().hierarchy(&some).slots, [0, 1, 4, 5, 2, 3]);
    let many = Fabric::from_cluster(&cluster(&[2; 5], "kind = \"torus\"\ndimensions = [2, 2]")).unwrap_err();
    assert_eq!(many.to_string(), "this topology has 4 nodes, and the machine has 5");
}

#[test]
fn what_never_gets_anywhere_is_an_error() {
    assert_eq!(Fabric::from_cluster(&cluster(&[0, 0], "")).unwrap_err(), Error::NoSlots);
    let mut slow = cluster(&[1], "");
    slow.bytes_per_s = 0.0;
    assert_eq!(Fabric::from_cluster(&slow).unwrap_err(), Error::Rate(0.0));
    slow.bytes_per_s = f64::NAN;
    assert!(matches!(Fabric::from_cluster(&slow), Err(Error::Rate(_))));
    slow.bytes_per_s = 1.0;
    slow.hosts[0].speed = -1.0;
    assert_eq!(Fabric::from_cluster(&slow).unwrap_err().to_string(), "host `h` has speed -1: must be positive");
}
