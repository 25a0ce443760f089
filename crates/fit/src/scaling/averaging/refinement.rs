//! Finer grids of real exponents, where precise measurements leave a peak between two of a coarse grid.

use super::candidates::RealFamily;
use super::evidence::EvidenceProblem;

/// The exponents of a finer grid in a step of the coarser one.
const PER_STEP: i32 = 8;

/// Most grids within each other: the finest has exponents 0.0001 apart.
const MAX_GRIDS: usize = 3;

/// A peak is resolved where the evidence of its neighbours differs by less than this, as a logarithm.
const RESOLVED: f64 = 0.3;

/// Refines the grids of all families around the most probable exponent.
pub(super) fn refine(problem: &mut EvidenceProblem) {
    let mut families: Vec<RealFamily> = problem.candidates.families.clone();
    for _ in 0..MAX_GRIDS {
        let peaks: Vec<(usize, RealFamily)> = families.iter().filter_map(|family| Some((peak(problem, family)?, family.clone()))).collect();
        families = peaks.into_iter().map(|(set, family)| problem.subdivide(set, &family, PER_STEP)).collect();
    }
}

/// The most probable form of a family, unless its neighbours are nearly as probable.
fn peak(problem: &EvidenceProblem, family: &RealFamily) -> Option<usize> {
    let mut best = f64::NEG_INFINITY;
    let bound = |set: usize| {
        let bound = problem.coarse_log_bound(set, best - RESOLVED);
        best = best.max(bound);
        bound
    };
    let bounds: Vec<f64> = family.sets.clone().map(bound).collect();
    let (best, bound) = bounds.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let neighbours = [best.checked_sub(1), Some(best + 1)];
    let is_peak = neighbours.into_iter().flatten().filter_map(|index| bounds.get(index)).any(|neighbour| bound - neighbour > RESOLVED);
    is_peak.then_some(family.sets.start + best)
}
