//! Properties of partitions.

use super::*;
use crate::graph::ExchangeEdge;
use proptest::prelude::*;

fn edge(a: u32, b: u32, weight: u64) -> ExchangeEdge {
    ExchangeEdge { ranks: [a, b], forward: weight, backward: 0 }
}

fn square_grid(side: u32) -> Vec<ExchangeEdge> {
    let rows = (0..side * side).filter(|rank| rank % side + 1 < side).map(|rank| edge(rank, rank + 1, 1));
    let columns = (0..side * (side - 1)).map(|rank| edge(rank, rank + side, 1));
    rows.chain(columns).collect()
}

fn parts(slots: &[u32]) -> Vec<PartTarget> {
    let all: u32 = slots.iter().sum();
    slots.iter().map(|slots| PartTarget { slots: *slots, share: f64::from(*slots) / f64::from(all.max(1)) }).collect()
}

fn sizes(part: &[u32], parts: usize) -> Vec<u32> {
    let mut sizes = vec![0; parts];
    part.iter().for_each(|part| sizes[*part as usize] += 1);
    sizes
}

fn cut(graph: &RankGraph, part: &[u32]) -> i64 {
    let across =
        |rank: u32| graph.arcs(rank).iter().filter(move |arc| part[arc.to as usize] != part[rank as usize]).map(|arc| arc.weight as i64);
    (0..graph.rank_count() as u32).flat_map(across).sum::<i64>() / 2
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_part_has_exactly_its_slots(
        slots in prop::collection::vec(0u32..40, 1..8),
        ends in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u64>()), 0..300),
        heavy in any::<u32>(),
    ) {
        let ranks: u32 = slots.iter().sum();
        let edges: Vec<ExchangeEdge> = ends.iter().map(|(a, b, weight)| edge(a % ranks.max(1), b % ranks.max(1), *weight)).collect();
        let compute = (0..ranks).map(|rank| if rank % 7 == 0 { u64::from(heavy) } else { 5 }).collect();
        let part = partition(&RankGraph::new(compute, &edges), &parts(&slots), SearchEffort::Quick);
        prop_assert_eq!(sizes(&part, slots.len()), slots);
    }
}

#[test]
fn a_square_grid_falls_into_its_quarters() {
    let graph = RankGraph::new(vec![1; 64], &square_grid(8));
    for effort in [SearchEffort::Usual, SearchEffort::Thorough] {
        assert_eq!(cut(&graph, &partition(&graph, &parts(&[16; 4]), effort)), 16);
    }
}

#[test]
fn communities_that_exchange_nothing_with_others_are_found() {
    let inside = |rank: u32| (1..16).map(move |step| edge(rank * 37 % 64, (rank * 37 + 4 * step) % 64, 3));
    let graph = RankGraph::new(vec![1; 64], &(0..64).flat_map(inside).collect::<Vec<_>>());
    let part = partition(&graph, &parts(&[16; 4]), SearchEffort::Quick);
    assert_eq!(cut(&graph, &part), 0);
}

#[test]
fn a_heavy_edge_is_not_cut_for_many_light_ones() {
    let graph = RankGraph::new(vec![1; 4], &[edge(0, 3, u64::MAX / 4), edge(1, 2, u64::MAX / 4), edge(0, 1, 7), edge(2, 3, 7)]);
    let part = partition(&graph, &parts(&[2, 2]), SearchEffort::Usual);
    assert!(part[0] == part[3] && part[1] == part[2] && part[0] != part[1], "{part:?}");
}

#[test]
fn heavy_ranks_are_spread() {
    // The four heavy ranks are in one corner; without weights, one part would get them all.
    let heavy = [0, 1, 8, 9];
    let compute = (0..64).map(|rank| if heavy.contains(&rank) { 100 } else { 10 }).collect();
    let part = partition(&RankGraph::new(compute, &square_grid(8)), &parts(&[16; 4]), SearchEffort::Usual);
    let mut of_heavy: Vec<u32> = heavy.iter().map(|rank| part[*rank as usize]).collect();
    of_heavy.sort_unstable();
    assert_eq!(of_heavy, [0, 1, 2, 3]);
}

#[test]
fn a_part_with_a_greater_share_has_the_heavy_ranks() {
    let compute = (0..8).map(|rank| if rank % 2 == 0 { 100 } else { 10 }).collect();
    let parts = [PartTarget { slots: 4, share: 0.1 }, PartTarget { slots: 4, share: 0.9 }];
    let part = partition(&RankGraph::new(compute, &[edge(0, 1, 1), edge(4, 5, 1)]), &parts, SearchEffort::Usual);
    assert_eq!(part, [1, 0, 1, 0, 1, 0, 1, 0]);
}

#[test]
fn the_number_of_threads_does_not_change_anything() {
    let graph = RankGraph::new(vec![1; 900], &square_grid(30));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| partition(&graph, &parts(&[100; 9]), SearchEffort::Usual))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn few_ranks_or_none_are_no_special_case() {
    assert_eq!(partition(&RankGraph::new(Vec::new(), &[]), &[], SearchEffort::Usual), Vec::<u32>::new());
    assert_eq!(partition(&RankGraph::new(Vec::new(), &[]), &parts(&[0, 0]), SearchEffort::Usual), Vec::<u32>::new());
    assert_eq!(partition(&RankGraph::new(vec![1], &[]), &parts(&[0, 1]), SearchEffort::Usual), [1]);
    assert_eq!(sizes(&partition(&RankGraph::new(vec![1; 50], &[]), &parts(&[20, 30]), SearchEffort::Usual), 2), [20, 30]);
}
