//! A net cut in two: made coarser step by step, cut where it is small, and the cut made better on the way back.

use super::Effort;
use super::coarsen::{Coarser, coarser};
use super::heap::Heap;
use super::net::Net;
use super::two_way::{Cost, Sides, TwoWay};
use rayon::prelude::*;
use sintonia_fit::Random;

/// Nets of so many vertices are cut as they are.
const COARSEST: usize = 48;

/// How much is tried for one cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    /// How often a net is made coarser anew.
    pub descents: usize,
    /// How often the best cut is made coarser again, with its sides kept apart.
    pub cycles: usize,
    /// How many first cuts are grown where the net is small.
    pub growths: usize,
    /// How many rounds of moves there are for each net at most.
    pub rounds: usize,
    /// How many rounds of pairs of parts there are at most.
    pub pair_rounds: usize,
}

impl Tries {
    /// As many as a net of that size leaves time for; all its parts are tried as often.
    pub fn new(effort: Effort, net: &Net) -> Tries {
        let work = net.arcs_in_all() + net.len();
        let [descents, cycles, rounds, pair_rounds] = match (effort, work) {
            (Effort::Quick, _) | (Effort::Usual, 2_000_000..) => [1, 0, 3, 1],
            (Effort::Usual, 500_000..) | (Effort::Thorough, 2_000_000..) => [2, 0, 4, 1],
            (Effort::Usual, 60_000..) => [4, 1, 6, 2],
            (Effort::Usual, _) | (Effort::Thorough, 500_000..) => [10, 2, 8, 4],
            (Effort::Thorough, _) => [40, 6, 10, 8],
        };
        Tries { descents, cycles, growths: 3 + descents.min(4), rounds, pair_rounds }
    }
}

/// The side of each vertex: `true` for the second.
pub(crate) fn bisect(net: &Net, sides: Sides, tries: Tries, random: &mut Random) -> Vec<bool> {
    if sides.slots[0] == 0 || sides.slots[1] == 0 {
        return vec![sides.slots[0] == 0; net.len()];
    }
    let seeds: Vec<u64> = (0..tries.descents).map(|_| random.bits()).collect();
    let descents = seeds.into_par_iter().enumerate().map(|(turn, seed)| {
        let (cost, side) = descend(net, sides, None, tries, &mut Random::new(seed));
        (cost, turn, side)
    });
    let better = |a: (Cost, usize, Vec<bool>), b: (Cost, usize, Vec<bool>)| if (b.0, b.1) < (a.0, a.1) { b } else { a };
    let Some((mut cost, _, mut side)) = descents.reduce_with(better) else { return vec![false; net.len()] };
    for _ in 0..tries.cycles {
        let found = descend(net, sides, Some(&side), tries, random);
        if found.0 <= cost {
            (cost, side) = found;
        }
    }
    side
}

/// Coarser step by step, a first cut there (or the one that is kept), and back.
fn descend(net: &Net, sides: Sides, kept: Option<&[bool]>, tries: Tries, random: &mut Random) -> (Cost, Vec<bool>) {
    let largest = (net.size() * 3 / (2 * COARSEST as u64)).clamp(1, u64::from(u32::MAX)) as u32;
    let mut steps: Vec<Coarser> = Vec::new();
    let mut kept = kept.map(<[bool]>::to_vec);
    loop {
        let current = steps.last().map_or(net, |step| &step.net);
        if current.len() <= COARSEST {
            break;
        }
        let Some(step) = coarser(current, largest, kept.as_deref(), random) else { break };
        kept = kept.map(|kept| lifted(&kept, &step));
        steps.push(step);
    }
    let coarsest = steps.last().map_or(net, |step| &step.net);
    let (mut cost, mut side) = match kept {
        Some(mut side) => (TwoWay::new(coarsest, sides, tolerance(coarsest), &mut side).refine(tries.rounds), side),
        None => first_cut(coarsest, sides, tries, random),
    };
    while let Some(step) = steps.pop() {
        let finer = steps.last().map_or(net, |step| &step.net);
        side = step.cluster.iter().map(|cluster| side[*cluster as usize]).collect();
        cost = TwoWay::new(finer, sides, tolerance(finer), &mut side).refine(tries.rounds);
    }
    (cost, side)
}

fn lifted(side: &[bool], step: &Coarser) -> Vec<bool> {
    let mut lifted = vec![false; step.net.len()];
    step.cluster.iter().zip(side).for_each(|(cluster, side)| lifted[*cluster as usize] = *side);
    lifted
}

/// Single ranks can be divided exactly; larger vertices not.
fn tolerance(net: &Net) -> u64 {
    match net.sizes.iter().max() {
        Some(&largest) if largest > 1 => largest.into(),
        _ => 0,
    }
}

/// The best of several cuts, each grown from a vertex by chance.
fn first_cut(net: &Net, sides: Sides, tries: Tries, random: &mut Random) -> (Cost, Vec<bool>) {
    let mut attempt = |turn: usize| {
        let mut side = grown(net, sides.slots[turn % 2], random);
        if turn % 2 == 1 {
            side.iter_mut().for_each(|side| *side = !*side);
        }
        (TwoWay::new(net, sides, tolerance(net), &mut side).refine(tries.rounds), side)
    };
    let mut best = attempt(0);
    for turn in 1..tries.growths {
        let found = attempt(turn);
        if found.0 < best.0 {
            best = found;
        }
    }
    best
}

/// A side of so many slots that grows by the vertex that exchanges most with it and least with the rest; `true` is outside.
fn grown(net: &Net, slots: u64, random: &mut Random) -> Vec<bool> {
    let mut outside = vec![true; net.len()];
    let mut border = Heap::new(net.len());
    let mut size = 0;
    let mut next = random.below(net.len().max(1));
    while size < slots {
        let vertex = match border.first() {
            Some((_, vertex)) => vertex,
            None => {
                let Some(vertex) = (0..net.len()).map(|step| (next + step) % net.len()).find(|vertex| outside[*vertex]) else { break };
                next = vertex;
                vertex as u32
            }
        };
        border.remove(vertex);
        let after = size + u64::from(net.sizes[vertex as usize]);
        if after > slots && after - slots > slots - size {
            break;
        }
        size = after;
        outside[vertex as usize] = false;
        for (to, _) in net.arcs(vertex).filter(|(to, _)| outside[*to as usize]) {
            let gain = net.arcs(to).map(|(other, weight)| if outside[other as usize] { -weight } else { weight }).sum();
            border.set(to, gain);
        }
    }
    outside
}
