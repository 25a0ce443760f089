//! Properties of mappings.

use super::*;
use crate::graph::ExchangeEdge;
use crate::hierarchy::HierarchyLevel;
use proptest::prelude::*;
use sintonia_fit::SplitMix64;

fn edge(a: u32, b: u32, weight: u64) -> ExchangeEdge {
    ExchangeEdge { ranks: [a, b], forward: weight, backward: 1 }
}

fn by_chance(ranks: u32, edges: usize, seed: u64) -> RankGraph {
    let mut random = SplitMix64::new(seed);
    let mut rank = || random.index_below(ranks as usize) as u32;
    let edges: Vec<ExchangeEdge> = (0..edges).map(|place| edge(rank(), rank(), 1 + place as u64 % 9)).collect();
    RankGraph::new(vec![1; ranks as usize], &edges)
}

/// Hosts of 3, 8 and 5 slots, the second with two sockets.
fn uneven() -> SlotHierarchy {
    let level = |starts: &[u32], distance| HierarchyLevel { starts: starts.to_vec(), distance };
    SlotHierarchy::new(vec![level(&[0, 16], 10.0), level(&[0, 3, 11, 16], 4.0), level(&[0, 3, 7, 11, 16], 1.0)])
}

fn is_one_to_one(placement: &Placement, slots: u32) -> bool {
    let mut taken = placement.0.clone();
    taken.sort_unstable();
    taken.windows(2).all(|pair| pair[0] < pair[1]) && taken.last().is_none_or(|last| *last < slots)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn no_slot_is_taken_twice(ranks in 0u32..=16, edges in 0usize..60, seed in any::<u64>()) {
        let graph = by_chance(ranks.max(1), edges, seed);
        let placement = map_onto_hierarchy(&graph, &uneven(), &[], SearchEffort::Quick);
        prop_assert_eq!(placement.0.len(), graph.rank_count());
        prop_assert!(is_one_to_one(&placement, 16), "{:?}", placement);
    }
}

#[test]
fn byte_distance_counts_each_pair_once() {
    let graph = RankGraph::new(vec![1; 3], &[edge(0, 1, 9), edge(1, 2, 4)]);
    assert_eq!(byte_distance(&graph, &uneven(), &Placement(vec![0, 3, 8])), 10.0 * 10.0 + 5.0 * 4.0);
}

#[test]
fn groups_come_to_the_domains_where_they_fit() {
    // Rings of 3, 8 and 5 ranks, with interleaved numbers.
    let names: Vec<u32> = (0..16).map(|place| place * 7 % 16).collect();
    let ring = |members: &[u32]| {
        let next = members.iter().cycle().skip(1);
        members.iter().zip(next).map(|(a, b)| edge(*a, *b, 99)).collect::<Vec<_>>()
    };
    let graph = RankGraph::new(vec![1; 16], &[ring(&names[..8]), ring(&names[8..11]), ring(&names[11..])].concat());
    let placement = map_onto_hierarchy(&graph, &uneven(), &[], SearchEffort::Usual);
    let host = |rank: u32| uneven().levels()[1].domain(placement.0[rank as usize]);
    let hosts: Vec<usize> = names.iter().map(|rank| host(*rank)).collect();
    assert_eq!(hosts, [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 2, 2, 2, 2, 2]);
}

#[test]
fn a_shuffled_grid_is_put_together_again() {
    let name = |place: u32| place * 29 % 64;
    let rows = (0..64).filter(|rank| rank % 8 < 7).map(|rank| edge(name(rank), name(rank + 1), 1));
    let columns = (0..56).map(|rank| edge(name(rank), name(rank + 8), 1));
    let graph = RankGraph::new(vec![1; 64], &rows.chain(columns).collect::<Vec<_>>());
    let hierarchy = SlotHierarchy::uniform(&[(4, 10.0), (4, 4.0), (4, 1.0)]);
    let placement = map_onto_hierarchy(&graph, &hierarchy, &[], SearchEffort::Usual);
    // Quarters of 4 x 4, in them quarters of 2 x 2: 16 edges have distance 10, 32 have distance 4, the other 64 are inside.
    assert_eq!(byte_distance(&graph, &hierarchy, &placement), 2.0 * (16.0 * 10.0 + 32.0 * 4.0 + 64.0));
}

#[test]
fn ranks_stay_together_when_there_is_room_to_spare() {
    let graph = RankGraph::new(vec![10; 4], &[edge(0, 1, 9), edge(1, 2, 9), edge(2, 3, 9), edge(3, 0, 9)]);
    let placement = map_onto_hierarchy(&graph, &uneven(), &[], SearchEffort::Usual);
    assert_eq!(byte_distance(&graph, &uneven(), &placement), 40.0);
}

#[test]
fn heavy_ranks_are_not_packed_together() {
    let compute = (0..16).map(|rank| if rank < 4 { 90 } else { 10 }).collect();
    let graph = RankGraph::new(compute, &(0..15).map(|rank| edge(rank, rank + 1, 5)).collect::<Vec<_>>());
    let hierarchy = SlotHierarchy::uniform(&[(4, 10.0), (4, 1.0)]);
    let placement = map_onto_hierarchy(&graph, &hierarchy, &[], SearchEffort::Usual);
    let mut hosts: Vec<u32> = placement.0[..4].iter().map(|slot| slot / 4).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [0, 1, 2, 3]);
}

#[test]
fn heavy_ranks_come_to_fast_hosts() {
    let compute = (0..8).map(|rank| if rank % 2 == 0 { 100 } else { 10 }).collect();
    let graph = RankGraph::new(compute, &[edge(0, 2, 1), edge(5, 7, 1)]);
    let speeds = [1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0];
    let placement = map_onto_hierarchy(&graph, &SlotHierarchy::uniform(&[(2, 10.0), (4, 1.0)]), &speeds, SearchEffort::Usual);
    assert!((0..8).all(|rank| (placement.0[rank] >= 4) == (rank % 2 == 0)), "{placement:?}");
}

#[test]
fn the_number_of_threads_does_not_change_anything() {
    let graph = by_chance(40, 160, 1);
    let hierarchy = SlotHierarchy::uniform(&[(5, 20.0), (2, 10.0), (4, 1.0)]);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| map_onto_hierarchy(&graph, &hierarchy, &[], SearchEffort::Usual))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn nothing_to_place_and_nothing_exchanged_are_no_special_case() {
    assert_eq!(map_onto_hierarchy(&RankGraph::new(Vec::new(), &[]), &uneven(), &[], SearchEffort::Usual), Placement(Vec::new()));
    assert_eq!(
        map_onto_hierarchy(&RankGraph::new(vec![1], &[]), &SlotHierarchy::uniform(&[(1, 1.0)]), &[], SearchEffort::Usual),
        Placement(vec![0])
    );
    assert!(is_one_to_one(&map_onto_hierarchy(&RankGraph::new(vec![0; 16], &[]), &uneven(), &[], SearchEffort::Usual), 16));
}
