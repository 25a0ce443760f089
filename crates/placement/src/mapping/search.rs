//! Generates several candidates, refines them by swaps, and takes the best.

use super::anneal::anneal;
use super::domain_loads::DomainLoads;
use super::hill_climb::hill_climb;
use super::multisection::multisection;
use super::slot_assignment::SlotAssignment;
use super::slot_codes::SlotCodes;
use crate::partition::SearchEffort;
use crate::partition::partition_graph::PartitionGraph;
use rayon::prelude::*;
use sintonia_fit::SplitMix64;

/// Number of annealing rounds, each from the best so far.
const ROUNDS: u64 = 2;
/// Initial temperatures; each is a separate chain.
const START_TEMPERATURES: [f64; 4] = [0.06, 0.12, 0.24, 0.12];

/// Partitions of the ranks among the domains; several if there are few ranks. If computation matters, every other one ignores it.
pub(crate) fn division_candidates(graph: &PartitionGraph, tree: &SlotCodes, speeds: &[f64], effort: SearchEffort) -> Vec<Vec<u32>> {
    let alike = DomainLoads::new(graph, tree, speeds).map(|_| graph.clone().with_uniform_compute());
    let attempts = match (effort, graph.arc_count()) {
        (SearchEffort::Quick, _) | (_, 100_000..) => 1,
        _ => START_TEMPERATURES.len() as u64,
    };
    let division = |method: u64| match &alike {
        Some(alike) if method % 2 == 1 => multisection(alike, tree, &[], effort, method << 48),
        _ => multisection(graph, tree, speeds, effort, method << 48),
    };
    (0..attempts).into_par_iter().map(division).collect()
}

/// The best refined candidate.
pub(crate) fn best_assignment(
    graph: &PartitionGraph,
    tree: &SlotCodes,
    loads: Option<DomainLoads>,
    candidates: Vec<Vec<u32>>,
    effort: SearchEffort,
) -> Vec<u32> {
    let seated = candidates.into_iter().map(|slots| SlotAssignment::new(graph, tree, loads.clone(), slots));
    let mut found: Vec<(f64, SlotAssignment)> = seated.map(|assignment| (assignment.cost(), assignment)).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.truncate(START_TEMPERATURES.len());
    let promising = found.first().map_or(0.0, |best| 1.1 * best.0);
    found.retain(|(cost, _)| *cost <= promising);
    let looks = if effort == SearchEffort::Quick { 3 } else { 20 };
    found.par_iter_mut().for_each(|(cost, assignment)| {
        hill_climb(assignment, looks);
        *cost = assignment.cost();
    });
    let steps = anneal_steps(graph, effort);
    for round in (0..ROUNDS).filter(|_| steps > 0) {
        found = anneal_chains(&found, steps, round, looks);
    }
    let best = found.into_iter().reduce(|a, b| if b.0 < a.0 { b } else { a });
    best.map_or(Vec::new(), |best| best.1.into_slots())
}

/// One chain per temperature, from the best so far; chains without improvement return their start.
fn anneal_chains<'a>(found: &[(f64, SlotAssignment<'a>)], steps: usize, round: u64, looks: usize) -> Vec<(f64, SlotAssignment<'a>)> {
    let chain = |(index, heat): (usize, &f64)| {
        let (cost, start) = &found[index % found.len()];
        let mut assignment = start.clone();
        anneal(&mut assignment, *heat, steps, &mut SplitMix64::new(round << 32 | index as u64));
        hill_climb(&mut assignment, looks);
        let after = assignment.cost();
        if after < *cost { (after, assignment) } else { (*cost, start.clone()) }
    };
    let mut chains: Vec<(f64, SlotAssignment)> = START_TEMPERATURES.par_iter().enumerate().map(chain).collect();
    chains.sort_by(|a, b| a.0.total_cmp(&b.0));
    chains.truncate(2);
    chains
}

/// Number of annealing steps per chain; 0 if the budget is too small to be useful.
fn anneal_steps(graph: &PartitionGraph, effort: SearchEffort) -> usize {
    let budget: usize = match effort {
        SearchEffort::Quick => 0,
        SearchEffort::Usual => 40_000_000,
        SearchEffort::Thorough => 400_000_000,
    };
    let neighbours = graph.arc_count() / graph.len().max(1) + 4;
    let steps = budget / neighbours / ROUNDS as usize;
    if steps < 40 * graph.len() { 0 } else { steps.min(4_000 * graph.len()) }
}
