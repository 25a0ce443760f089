//! The best of many: ranks divided in several ways, and each made better by swaps.

use super::anneal::anneal;
use super::burdens::Burdens;
use super::climb::climb;
use super::multisection::multisection;
use super::seats::Seats;
use super::tree::Tree;
use crate::partition::Effort;
use crate::partition::net::Net;
use rayon::prelude::*;
use sintonia_fit::Random;

/// How often swaps by chance are begun with the best so far.
const ROUNDS: u64 = 2;
/// How warm they begin; each is a chain of its own.
const HEATS: [f64; 4] = [0.06, 0.12, 0.24, 0.12];

/// Ranks divided among the domains of the machine, in several ways if there are few; if compute matters, every other without regard to it.
pub(crate) fn divisions(net: &Net, tree: &Tree, speeds: &[f64], effort: Effort) -> Vec<Vec<u32>> {
    let alike = Burdens::new(net, tree, speeds).map(|_| net.clone().alike());
    let ways = match (effort, net.arcs_in_all()) {
        (Effort::Quick, _) | (_, 100_000..) => 1,
        _ => HEATS.len() as u64,
    };
    let division = |way: u64| match &alike {
        Some(alike) if way % 2 == 1 => multisection(alike, tree, &[], effort, way << 48),
        _ => multisection(net, tree, speeds, effort, way << 48),
    };
    (0..ways).into_par_iter().map(division).collect()
}

/// The best that swaps make of any of the candidates.
pub(crate) fn best(net: &Net, tree: &Tree, burdens: Option<Burdens>, candidates: Vec<Vec<u32>>, effort: Effort) -> Vec<u32> {
    let seated = candidates.into_iter().map(|slots| Seats::new(net, tree, burdens.clone(), slots));
    let mut found: Vec<(f64, Seats)> = seated.map(|seats| (seats.cost(), seats)).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.truncate(HEATS.len());
    let promising = found.first().map_or(0.0, |best| 1.1 * best.0);
    found.retain(|(cost, _)| *cost <= promising);
    let looks = if effort == Effort::Quick { 3 } else { 20 };
    found.par_iter_mut().for_each(|(cost, seats)| {
        climb(seats, looks);
        *cost = seats.cost();
    });
    let tries = tries(net, effort);
    for round in (0..ROUNDS).filter(|_| tries > 0) {
        found = annealed(&found, tries, round, looks);
    }
    let best = found.into_iter().reduce(|a, b| if b.0 < a.0 { b } else { a });
    best.map_or(Vec::new(), |best| best.1.into_slots())
}

/// A chain for each heat, from the best that were found; those that made nothing better are as they began.
fn annealed<'a>(found: &[(f64, Seats<'a>)], tries: usize, round: u64, looks: usize) -> Vec<(f64, Seats<'a>)> {
    let chain = |(place, heat): (usize, &f64)| {
        let (cost, start) = &found[place % found.len()];
        let mut seats = start.clone();
        anneal(&mut seats, *heat, tries, &mut Random::new(round << 32 | place as u64));
        climb(&mut seats, looks);
        let after = seats.cost();
        if after < *cost { (after, seats) } else { (*cost, start.clone()) }
    };
    let mut chains: Vec<(f64, Seats)> = HEATS.par_iter().enumerate().map(chain).collect();
    chains.sort_by(|a, b| a.0.total_cmp(&b.0));
    chains.truncate(2);
    chains
}

/// How many swaps by chance each chain tries; none if there is no time for enough of them.
fn tries(net: &Net, effort: Effort) -> usize {
    let budget: usize = match effort {
        Effort::Quick => 0,
        Effort::Usual => 40_000_000,
        Effort::Thorough => 400_000_000,
    };
    let neighbours = net.arcs_in_all() / net.len().max(1) + 4;
    let tries = budget / neighbours / ROUNDS as usize;
    if tries < 40 * net.len() { 0 } else { tries.min(4_000 * net.len()) }
}
