//! Simulated annealing with swaps, to escape local minima.

use super::slot_assignment::SlotAssignment;
use sintonia_fit::SplitMix64;

/// Final temperature, relative to the mean change of a swap.
const FINAL_TEMPERATURE: f64 = 0.008;

/// Tries this many swaps; `heat` is the initial temperature, relative to the mean change of a swap.
pub(crate) fn anneal(assignment: &mut SlotAssignment, heat: f64, steps: usize, random: &mut SplitMix64) {
    let Some(usual) = mean_change(assignment, random) else { return };
    let [first, last] = [heat * usual, FINAL_TEMPERATURE * usual];
    let cooling = (last / first).powf(1.0 / (steps / 256).max(1) as f64);
    let mut heat = first;
    for turn in 0..steps {
        if turn % 256 == 255 {
            heat *= cooling;
        }
        let Some([rank, other]) = propose_swap(assignment, random) else { continue };
        let gain = assignment.gain(rank, other);
        if gain >= 0.0 || random.uniform() < (gain / heat).exp() {
            assignment.swap(rank, other);
        }
    }
}

/// Mean change of a proposed swap.
fn mean_change(assignment: &SlotAssignment, random: &mut SplitMix64) -> Option<f64> {
    let changes: Vec<f64> = (0..2000).filter_map(|_| propose_swap(assignment, random)).map(|[a, b]| assignment.gain(a, b).abs()).collect();
    let sum: f64 = changes.iter().sum();
    (sum > 0.0).then(|| sum / changes.len() as f64)
}

/// A rank, and one that is nearer to one of its neighbours; occasionally any two.
fn propose_swap(assignment: &SlotAssignment, random: &mut SplitMix64) -> Option<[u32; 2]> {
    let rank = random.index_below(assignment.graph.len()) as u32;
    if random.index_below(32) == 0 {
        return Some([rank, random.index_below(assignment.graph.len()) as u32]);
    }
    let (towards, _) = assignment.graph.random_arc(rank, random)?;
    let levels = assignment.tree.levels();
    let (from, to) = (assignment.slot(rank) as usize, assignment.slot(towards) as usize);
    let apart = levels.iter().position(|level| level.domain_of_slot[from] != level.domain_of_slot[to])?;
    let level = &levels[apart + random.index_below(levels.len() - apart)];
    let slots = level.slots(level.domain_of_slot[to]);
    let slot = slots.start + random.index_below(slots.len()) as u32;
    Some([rank, assignment.rank(slot)])
}
