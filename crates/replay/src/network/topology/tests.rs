//! Routes against hand-made ones, and against properties of all routes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sintonia_machine::Machine;

use super::*;
use crate::interval_bound::IntervalBound;

fn routes(topology: &str) -> (NetworkRoutes, u32) {
    let text = format!("format = 1\nmachine = {{ name = \"t\" }}\n[topology]\nbandwidth_bytes_per_s = 100\n{topology}\n");
    let topology = Machine::parse(&text, Path::new("t")).unwrap().topology.unwrap();
    (NetworkRoutes::new(&topology, FigureSelection::from(IntervalBound::Middle)).unwrap(), topology.node_count())
}

fn route(routes: &NetworkRoutes, from: u32, to: u32) -> Vec<LinkId> {
    let mut route = vec![99];
    routes.find_route(from, to, &mut route);
    route
}

fn hops(topology: &str, pairs: &[(u32, u32)]) -> Vec<usize> {
    let (routes, _) = routes(topology);
    pairs.iter().map(|(from, to)| route(&routes, *from, *to).len()).collect()
}

#[test]
fn route_lengths_match_the_topology() {
    assert_eq!(hops("kind = \"bus\"\nnodes = 4", &[(0, 3), (1, 1)]), [1, 0]);
    assert_eq!(hops("kind = \"crossbar\"\nnodes = 4", &[(0, 3)]), [2]);
    assert_eq!(hops("kind = \"star\"\nnodes = 4\nswitch_bandwidth_bytes_per_s = 1", &[(0, 3)]), [3]);
    // Coordinates of 13 in 4 x 4 are (1, 3): mesh 1 + 3, torus 1 + 1.
    assert_eq!(hops("kind = \"mesh\"\ndimensions = [4, 4]", &[(0, 13), (13, 0)]), [4, 4]);
    assert_eq!(hops("kind = \"torus\"\ndimensions = [4, 4]", &[(0, 13), (13, 0)]), [2, 2]);
    assert_eq!(hops("kind = \"hypercube\"\ndimension = 4", &[(0, 15), (5, 6)]), [4, 2]);
    let tree = "kind = \"fat_tree\"\nlevels = [{ down = 4 }, { down = 4, up = 2 }, { down = 2, up = 2 }]";
    assert_eq!(hops(tree, &[(0, 3), (0, 4), (0, 16), (31, 0)]), [2, 4, 6, 6]);
    let dragonfly = "kind = \"dragonfly\"\ngroups = 3\nrouters_per_group = 2\nnodes_per_router = 2";
    // Same router; same group; another group, with 0, 1 or 2 local links.
    assert_eq!(hops(dragonfly, &[(0, 1), (0, 2), (2, 8), (0, 4), (0, 10)]), [2, 3, 3, 4, 5]);
}

/// Every link connects two fixed vertices: what leaves over a link arrives at the same vertex for every route.
fn fits_together(topology: &str) {
    let (routes, nodes) = routes(topology);
    let mut ends: BTreeMap<LinkId, BTreeSet<LinkId>> = BTreeMap::new();
    let mut firsts: BTreeMap<u32, BTreeSet<LinkId>> = BTreeMap::new();
    for from in 0..nodes {
        for to in 0..nodes {
            let route = route(&routes, from, to);
            assert_eq!(route.is_empty(), from == to);
            assert_eq!(route.len(), routes.hops(from, to) as usize, "{topology}: from {from} to {to}");
            assert_eq!(route.iter().collect::<BTreeSet<_>>().len(), route.len(), "{topology}: twice over a link from {from} to {to}");
            assert!(route.iter().all(|link| (*link as usize) < routes.speeds().len()));
            firsts.entry(from).or_default().extend(route.first());
            route.windows(2).for_each(|pair| ends.entry(pair[0]).or_default().extend([pair[1]]));
            // The rest of a route only depends on the link and the destination.
            if let [first, rest @ ..] = &route[..] {
                assert!(rest.is_empty() || ends[first].contains(&rest[0]));
            }
        }
    }
    // No two nodes share a first link.
    let all: usize = firsts.values().map(BTreeSet::len).sum();
    let different: BTreeSet<LinkId> = firsts.values().flatten().copied().collect();
    assert_eq!(all, different.len(), "{topology}");
}

#[test]
fn nodes_have_their_own_links_and_no_route_uses_one_twice() {
    for topology in [
        "kind = \"crossbar\"\nnodes = 5",
        "kind = \"mesh\"\ndimensions = [3, 4, 2]",
        "kind = \"torus\"\ndimensions = [3, 4, 5]",
        "kind = \"torus\"\ndimensions = [2, 2]",
        "kind = \"hypercube\"\ndimension = 5",
        "kind = \"fat_tree\"\nlevels = [{ down = 4, up = 2 }, { down = 3, up = 2, parallel = 2 }, { down = 2, up = 3 }]",
        "kind = \"dragonfly\"\ngroups = 5\nrouters_per_group = 3\nnodes_per_router = 2",
    ] {
        fits_together(topology);
    }
}

#[test]
fn the_reverse_route_of_half_duplex_uses_the_same_links() {
    let (routes, _) = routes("kind = \"mesh\"\ndimensions = [5]\nduplex = \"half\"");
    let mut back = route(&routes, 4, 1);
    back.reverse();
    assert_eq!(route(&routes, 1, 4), back);
    let (routes, _) = self::routes("kind = \"mesh\"\ndimensions = [5]");
    let back = route(&routes, 4, 1);
    assert!(route(&routes, 1, 4).iter().all(|link| !back.contains(link)));
}

#[test]
fn a_mesh_goes_along_its_first_dimension_first() {
    let (routes, _) = routes("kind = \"mesh\"\ndimensions = [3, 3]");
    let first = route(&routes, 0, 1);
    assert_eq!(route(&routes, 0, 4)[..1], first);
    let last = route(&routes, 1, 4);
    assert_eq!(route(&routes, 0, 4)[1..], last);
}

#[test]
fn in_a_full_fat_tree_messages_to_different_nodes_share_no_down_link() {
    let (routes, nodes) = routes("kind = \"fat_tree\"\nlevels = [{ down = 4 }, { down = 4, up = 4 }, { down = 4, up = 4 }]");
    let mut owner: BTreeMap<LinkId, u32> = BTreeMap::new();
    for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
        let route = route(&routes, from, to);
        for link in &route[route.len() / 2..] {
            assert_eq!(*owner.entry(*link).or_insert(to), to, "link {link} leads to two nodes");
        }
    }
}

#[test]
fn a_down_link_to_one_node_never_limits_unless_it_is_narrower_than_the_last() {
    let spared = |levels: &str| {
        let (routes, _) = routes(&format!("kind = \"fat_tree\"\nlevels = {levels}"));
        let spared = routes.never_limiting();
        route(&routes, 0, 15).iter().map(|link| spared[*link as usize]).collect::<Vec<_>>()
    };
    assert_eq!(spared("[{ down = 4 }, { down = 4, up = 4 }]"), [false, false, true, false]);
    assert_eq!(spared("[{ down = 4 }, { down = 4, up = 4, bandwidth_bytes_per_s = 99 }]"), [false; 4]);
    assert_eq!(spared("[{ down = 4 }, { down = 4, up = 2 }]"), [false; 4]);
}

#[test]
fn all_parallel_links_and_parents_are_used() {
    let (routes, nodes) = routes("kind = \"fat_tree\"\nlevels = [{ down = 8 }, { down = 4, up = 2, parallel = 2 }]");
    let used: BTreeSet<LinkId> = (8..nodes).map(|to| route(&routes, 0, to)[1]).collect();
    assert_eq!(used.len(), 4);
}

#[test]
fn a_graph_is_crossed_by_the_fewest_links_and_then_the_least_latency() {
    let folder = tempfile::tempdir().unwrap();
    // From 0 to 3 over 1 or 2; 2 is faster. From 0 to 4 there is a direct slow link.
    std::fs::write(folder.path().join("g"), "0 1 1 5\n1 3 1 5\n0 2 1 1\n3 2 1 1\n3 4 1 1\n0 4 1 100\n").unwrap();
    let text = "format = 1\nmachine = { name = \"g\" }\n[topology]\nkind = \"graph\"\nfile = \"g\"\nbandwidth_bytes_per_s = 1";
    let topology = Machine::parse(text, &folder.path().join("m")).unwrap().topology.unwrap();
    let routes = NetworkRoutes::new(&topology, FigureSelection::from(IntervalBound::Middle)).unwrap();
    // Connection 2 in file direction, connection 3 against it.
    assert_eq!(route(&routes, 0, 3), [4, 7]);
    assert_eq!(route(&routes, 3, 0), [6, 5]);
    assert_eq!(route(&routes, 0, 4), [10]);
    assert_eq!(route(&routes, 0, 3), [4, 7], "the same when asked again");
    assert_eq!([(0, 3), (0, 4), (2, 2), (4, 2)].map(|(from, to)| routes.hops(from, to)), [2, 1, 0, 2]);
}
