//! Multilevel bisection: coarsen, cut the coarsest graph, and refine the cut while uncoarsening.

use super::SearchEffort;
use super::coarsen::{CoarseGraph, coarsen};
use super::heap::GainHeap;
use super::partition_graph::PartitionGraph;
use super::two_way::{CutCost, SideTargets, TwoWayCut};
use rayon::prelude::*;
use sintonia_fit::SplitMix64;

/// Graphs with at most this many vertices are not coarsened.
const COARSEST_VERTICES: usize = 48;

/// Effort spent on one cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BisectionBudget {
    /// Number of independent coarsenings.
    pub descents: usize,
    /// Number of V-cycles: coarsenings that keep the sides of the best cut apart.
    pub cycles: usize,
    /// Number of initial cuts grown on the coarsest graph.
    pub growths: usize,
    /// Maximum number of refinement passes per level.
    pub rounds: usize,
    /// Maximum number of rounds over pairs of parts.
    pub pair_rounds: usize,
}

impl BisectionBudget {
    /// The budget for a graph of this size; all its parts get the same.
    pub(crate) fn new(effort: SearchEffort, graph: &PartitionGraph) -> BisectionBudget {
        let work = graph.arc_count() + graph.len();
        let [descents, cycles, rounds, pair_rounds] = match (effort, work) {
            (SearchEffort::Quick, _) | (SearchEffort::Usual, 2_000_000..) => [1, 0, 3, 1],
            (SearchEffort::Usual, 500_000..) | (SearchEffort::Thorough, 2_000_000..) => [2, 0, 4, 1],
            (SearchEffort::Usual, 60_000..) => [4, 1, 6, 2],
            (SearchEffort::Usual, _) | (SearchEffort::Thorough, 500_000..) => [10, 2, 8, 4],
            (SearchEffort::Thorough, _) => [40, 6, 10, 8],
        };
        BisectionBudget { descents, cycles, growths: 3 + descents.min(4), rounds, pair_rounds }
    }
}

/// The side of each vertex: `true` for the second.
pub(crate) fn bisect(graph: &PartitionGraph, sides: SideTargets, budget: BisectionBudget, random: &mut SplitMix64) -> Vec<bool> {
    if sides.slots[0] == 0 || sides.slots[1] == 0 {
        return vec![sides.slots[0] == 0; graph.len()];
    }
    let seeds: Vec<u64> = (0..budget.descents).map(|_| random.next_u64()).collect();
    let descents = seeds.into_par_iter().enumerate().map(|(turn, seed)| {
        let (cost, side) = multilevel_bisect(graph, sides, None, budget, &mut SplitMix64::new(seed));
        (cost, turn, side)
    });
    let better = |a: (CutCost, usize, Vec<bool>), b: (CutCost, usize, Vec<bool>)| if (b.0, b.1) < (a.0, a.1) { b } else { a };
    let Some((mut cost, _, mut side)) = descents.reduce_with(better) else { return vec![false; graph.len()] };
    for _ in 0..budget.cycles {
        let found = multilevel_bisect(graph, sides, Some(&side), budget, random);
        if found.0 <= cost {
            (cost, side) = found;
        }
    }
    side
}

/// Coarsens, cuts (or keeps a given cut), and refines on the way back.
fn multilevel_bisect(
    graph: &PartitionGraph,
    sides: SideTargets,
    kept: Option<&[bool]>,
    budget: BisectionBudget,
    random: &mut SplitMix64,
) -> (CutCost, Vec<bool>) {
    let largest = (graph.slot_count() * 3 / (2 * COARSEST_VERTICES as u64)).clamp(1, u64::from(u32::MAX)) as u32;
    let mut steps: Vec<CoarseGraph> = Vec::new();
    let mut kept = kept.map(<[bool]>::to_vec);
    loop {
        let current = steps.last().map_or(graph, |step| &step.graph);
        if current.len() <= COARSEST_VERTICES {
            break;
        }
        let Some(step) = coarsen(current, largest, kept.as_deref(), random) else { break };
        kept = kept.map(|kept| project_to_coarse(&kept, &step));
        steps.push(step);
    }
    let coarsest = steps.last().map_or(graph, |step| &step.graph);
    let (mut cost, mut side) = match kept {
        Some(mut side) => (TwoWayCut::new(coarsest, sides, tolerance(coarsest), &mut side).refine(budget.rounds), side),
        None => initial_cut(coarsest, sides, budget, random),
    };
    while let Some(step) = steps.pop() {
        let finer = steps.last().map_or(graph, |step| &step.graph);
        side = step.cluster.iter().map(|cluster| side[*cluster as usize]).collect();
        cost = TwoWayCut::new(finer, sides, tolerance(finer), &mut side).refine(budget.rounds);
    }
    (cost, side)
}

fn project_to_coarse(side: &[bool], step: &CoarseGraph) -> Vec<bool> {
    let mut lifted = vec![false; step.graph.len()];
    step.cluster.iter().zip(side).for_each(|(cluster, side)| lifted[*cluster as usize] = *side);
    lifted
}

/// Single ranks can be divided exactly, coarse vertices cannot.
fn tolerance(graph: &PartitionGraph) -> u64 {
    match graph.sizes.iter().max() {
        Some(&largest) if largest > 1 => largest.into(),
        _ => 0,
    }
}

/// The best of several cuts, each grown from a random vertex.
fn initial_cut(graph: &PartitionGraph, sides: SideTargets, budget: BisectionBudget, random: &mut SplitMix64) -> (CutCost, Vec<bool>) {
    let mut attempt = |turn: usize| {
        let mut side = grow_side(graph, sides.slots[turn % 2], random);
        if turn % 2 == 1 {
            side.iter_mut().for_each(|side| *side = !*side);
        }
        (TwoWayCut::new(graph, sides, tolerance(graph), &mut side).refine(budget.rounds), side)
    };
    let mut best = attempt(0);
    for turn in 1..budget.growths {
        let found = attempt(turn);
        if found.0 < best.0 {
            best = found;
        }
    }
    best
}

/// Grows a side of this many slots by the vertex with the largest gain; `true` is outside.
fn grow_side(graph: &PartitionGraph, slots: u64, random: &mut SplitMix64) -> Vec<bool> {
    let mut outside = vec![true; graph.len()];
    let mut border = GainHeap::new(graph.len());
    let mut size = 0;
    let mut next = random.index_below(graph.len().max(1));
    while size < slots {
        let vertex = match border.peek() {
            Some((_, vertex)) => vertex,
            None => {
                let Some(vertex) = (0..graph.len()).map(|step| (next + step) % graph.len()).find(|vertex| outside[*vertex]) else { break };
                next = vertex;
                vertex as u32
            }
        };
        border.remove(vertex);
        let after = size + u64::from(graph.sizes[vertex as usize]);
        if after > slots && after - slots > slots - size {
            break;
        }
        size = after;
        outside[vertex as usize] = false;
        for (to, _) in graph.arcs(vertex).filter(|(to, _)| outside[*to as usize]) {
            let gain = graph.arcs(to).map(|(other, weight)| if outside[other as usize] { -weight } else { weight }).sum();
            border.set(to, gain);
        }
    }
    outside
}
