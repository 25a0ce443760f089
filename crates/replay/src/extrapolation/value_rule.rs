//! Rules for numbers: message sizes, iteration counts, tags.

use std::collections::BTreeMap;
use std::fmt;

use super::block_share::BlockShare;
use super::filters::{IterationFilter, LoopIteration, RankFilter, find_cycle};
use super::process_grid::RankPosition;
use super::scaling_law::ScalingLaw;
use super::value_observation::ValueObservation;

/// A number as a function of rank, number of ranks, and loop iterations.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ValueRule {
    /// Always the same.
    Constant(i64),
    /// Scales with the number of ranks.
    Scaling(ScalingLaw),
    /// A share of something distributed.
    Share(BlockShare),
    /// Smaller at the boundary of the grid, where there are fewer neighbours.
    NeighbourCount {
        /// Value in the interior.
        inside: i64,
        /// Decrease per boundary.
        less: i64,
        /// The dimensions that count.
        along: Vec<bool>,
    },
    /// One value for some ranks, another one for the others.
    ByRank(RankFilter, Box<ValueRule>, Box<ValueRule>),
    /// A cycle over the iterations of the loop at this depth.
    Cycle(usize, Vec<ValueRule>),
    /// Another value in the first or last iteration of the loop at this depth.
    IterationException {
        /// Depth of the loop.
        depth: usize,
        /// In which iterations the first value holds.
        when: IterationFilter,
        /// Value in that iteration, and in all others.
        numbers: Box<[ValueRule; 2]>,
    },
    /// Linear in the iteration of the loop at this depth.
    Arithmetic {
        /// Depth of the loop.
        depth: usize,
        /// Value in the first iteration.
        first: i64,
        /// Increment per iteration.
        step: i64,
    },
    /// Doubles with each iteration of the loop at this depth, or halves.
    Geometric {
        /// Depth of the loop.
        depth: usize,
        /// Smallest value.
        least: i64,
        /// Whether it halves.
        halves: bool,
    },
    /// The rank plus an offset.
    OwnRank(i64),
    /// The peer plus an offset.
    PeerRank(i64),
    /// Approximation: `factor * p^exponent`.
    PowerLaw { factor: f64, exponent: f64 },
}

/// Longest cycle of iterations with rules of their own.
const MAX_CYCLE: u32 = 16;

impl ValueRule {
    /// The value for a rank in these loop iterations.
    pub(super) fn evaluate(&self, position: RankPosition, iterations: &[LoopIteration], peer: Option<u32>) -> i64 {
        match self {
            ValueRule::Constant(value) => *value,
            ValueRule::Scaling(law) => law.evaluate(position),
            ValueRule::Share(share) => share.evaluate(position, peer),
            ValueRule::NeighbourCount { inside, less, along } => inside - less * boundary_count(position, along),
            ValueRule::ByRank(filter, yes, no) => {
                if filter.matches(position, peer) { yes } else { no }.evaluate(position, iterations, peer)
            }
            ValueRule::Cycle(depth, amounts) => {
                amounts[iterations[*depth].index as usize % amounts.len()].evaluate(position, iterations, peer)
            }
            ValueRule::IterationException { depth, when, numbers } => {
                let [there, elsewhere] = &**numbers;
                if when.matches(iterations[*depth]) { there } else { elsewhere }.evaluate(position, iterations, peer)
            }
            ValueRule::Arithmetic { depth, first, step } => first + step * i64::from(iterations[*depth].index),
            ValueRule::Geometric { depth, least, halves } => {
                let LoopIteration { index: number, total: of } = iterations[*depth];
                let times = if *halves { of.saturating_sub(number + 1) } else { number };
                least.saturating_mul(1i64.checked_shl(times).unwrap_or(i64::MAX))
            }
            ValueRule::OwnRank(more) => i64::from(position.rank) + more,
            ValueRule::PeerRank(more) => peer.map_or(0, i64::from) + more,
            ValueRule::PowerLaw { factor, exponent } => (factor * f64::from(position.rank_count).powf(*exponent)).round() as i64,
        }
    }

    /// Whether it is invariant in the loop at a depth.
    pub(super) fn is_loop_invariant(&self, depth: usize) -> bool {
        match self {
            ValueRule::Cycle(own, amounts) => *own != depth && amounts.iter().all(|amount| amount.is_loop_invariant(depth)),
            ValueRule::Arithmetic { depth: own, .. } | ValueRule::Geometric { depth: own, .. } => *own != depth,
            ValueRule::ByRank(_, yes, no) => yes.is_loop_invariant(depth) && no.is_loop_invariant(depth),
            ValueRule::IterationException { depth: own, numbers, .. } => {
                *own != depth && numbers.iter().all(|number| number.is_loop_invariant(depth))
            }
            _ => true,
        }
    }

    /// The rule that reproduces these numbers exactly, if any.
    pub(super) fn infer(seen: &[ValueObservation]) -> Option<ValueRule> {
        let Some(first) = seen.first() else { return Some(ValueRule::Constant(0)) };
        let fits = |amount: &ValueRule| seen.iter().all(|one| amount.evaluate(one.position, one.iterations, one.peer) == one.value);
        infer_invariant(seen)
            .or_else(|| infer_by_rank(seen))
            .or_else(|| infer_neighbour_count(seen))
            .or_else(|| (0..first.iterations.len()).rev().find_map(|depth| infer_by_iteration(seen, depth)))
            .filter(fits)
    }

    /// A power law fitted to the means of the runs.
    pub(super) fn fit_power_law(seen: &[ValueObservation]) -> ValueRule {
        let mut means: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for one in seen {
            let (sum, count) = means.entry(one.position.rank_count).or_default();
            (*sum, *count) = (*sum + one.value as f64, *count + 1.0);
        }
        let points: Vec<(f64, f64)> =
            means.iter().map(|(ranks, (sum, count))| (f64::from(*ranks).ln(), (sum / count).max(1e-9).ln())).collect();
        let count = points.len() as f64;
        let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
        let across: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
        let exponent = if across > 0.0 { points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / across } else { 0.0 };
        ValueRule::PowerLaw { factor: (y - exponent * x).exp(), exponent }
    }
}

/// A rule that depends neither on iterations nor on the position in the grid.
fn infer_invariant(seen: &[ValueObservation]) -> Option<ValueRule> {
    let first = seen.first()?;
    let same = |of: fn(&ValueObservation) -> Option<i64>| {
        let value = of(first)?;
        seen.iter().all(|one| of(one) == Some(value)).then_some(value)
    };
    if let Some(value) = same(|one| Some(one.value)) {
        return Some(ValueRule::Constant(value));
    }
    if let Some(law) = ScalingLaw::infer(&seen.iter().map(|one| (one.position, one.value)).collect::<Vec<_>>()) {
        return Some(ValueRule::Scaling(law));
    }
    if let Some(more) = same(|one| Some(one.value - i64::from(one.position.rank))) {
        return Some(ValueRule::OwnRank(more));
    }
    if let Some(more) = same(|one| Some(one.value - i64::from(one.peer?))) {
        return Some(ValueRule::PeerRank(more));
    }
    BlockShare::infer(seen).map(ValueRule::Share)
}

/// At how many boundaries of these dimensions a rank is.
fn boundary_count(position: RankPosition, along: &[bool]) -> i64 {
    let at = |d: usize| i64::from(position.coordinate(d) == 0) + i64::from(position.coordinate(d) + 1 == position.grid.side(d));
    (0..along.len()).filter(|d| along[*d]).map(at).sum()
}

/// Fewer per missing neighbour.
fn infer_neighbour_count(seen: &[ValueObservation]) -> Option<ValueRule> {
    let dimensions = seen.first()?.position.grid.dimensions();
    (1..1u32 << dimensions).rev().find_map(|bits| {
        let along: Vec<bool> = (0..dimensions).map(|d| bits & 1 << d != 0).collect();
        let by_ends: BTreeMap<i64, i64> = seen.iter().map(|one| (boundary_count(one.position, &along), one.value)).collect();
        let ((few, more), (count, fewer)) = (by_ends.first_key_value()?, by_ends.last_key_value()?);
        let less = (more - fewer).checked_div(count - few)?;
        let amount = ValueRule::NeighbourCount { inside: more + less * few, less, along };
        seen.iter().all(|one| amount.evaluate(one.position, one.iterations, one.peer) == one.value).then_some(amount)
    })
}

/// Two rules for two sets of ranks.
fn infer_by_rank(seen: &[ValueObservation]) -> Option<ValueRule> {
    let dimensions = seen.first()?.position.grid.dimensions();
    RankFilter::all(dimensions).into_iter().skip(1).find_map(|filter| {
        let (yes, no): (Vec<ValueObservation>, Vec<ValueObservation>) =
            seen.iter().copied().partition(|one| filter.matches(one.position, one.peer));
        if yes.is_empty() || no.is_empty() {
            return None;
        }
        Some(ValueRule::ByRank(filter, Box::new(infer_invariant(&yes)?), Box::new(infer_invariant(&no)?)))
    })
}

/// A rule that depends on the iteration of the loop at a depth.
fn infer_by_iteration(seen: &[ValueObservation], depth: usize) -> Option<ValueRule> {
    let by_round: Vec<(LoopIteration, i64)> = seen.iter().map(|one| (one.iterations[depth], one.value)).collect();
    let fits = |amount: &ValueRule| seen.iter().all(|one| amount.evaluate(one.position, one.iterations, one.peer) == one.value);
    let first = by_round.iter().find(|(iteration, _)| iteration.index == 0).map(|(_, value)| *value);
    let next = by_round.iter().find(|(iteration, _)| iteration.index == 1).map(|(_, value)| *value);
    let counts = first.zip(next).map(|(first, next)| ValueRule::Arithmetic { depth, first, step: next - first });
    let least = by_round.iter().map(|(_, value)| *value).min().unwrap_or(0);
    let doubles = [false, true].map(|halves| ValueRule::Geometric { depth, least, halves });
    if let Some(found) = counts.into_iter().chain(doubles).find(fits) {
        return Some(found);
    }
    for when in [IterationFilter::FirstRound(true), IterationFilter::LastRound(true)] {
        let (there, elsewhere): (Vec<ValueObservation>, Vec<ValueObservation>) =
            seen.iter().copied().partition(|one| when.matches(one.iterations[depth]));
        let number = |seen: &[ValueObservation]| infer_invariant(seen).or_else(|| infer_by_rank(seen));
        if let Some(numbers) = number(&there).zip(number(&elsewhere)) {
            return Some(ValueRule::IterationException { depth, when, numbers: Box::new([numbers.0, numbers.1]) });
        }
    }
    if let Some(values) = find_cycle(&by_round) {
        return Some(ValueRule::Cycle(depth, values.into_iter().map(ValueRule::Constant).collect()));
    }
    let shortest = by_round.iter().map(|(iteration, _)| iteration.total).min()?;
    let longest = by_round.iter().map(|(iteration, _)| iteration.total).max()?;
    (2..=shortest.min(MAX_CYCLE)).filter(|length| length * 2 <= shortest || *length == longest).find_map(|length| {
        let turn = |number: u32| seen.iter().copied().filter(|one| one.iterations[depth].index % length == number).collect::<Vec<_>>();
        let amounts: Option<Vec<ValueRule>> =
            (0..length).map(|number| infer_invariant(&turn(number)).or_else(|| infer_by_rank(&turn(number)))).collect();
        amounts.map(|amounts| ValueRule::Cycle(depth, amounts)).filter(|amount| fits(amount))
    })
}

impl fmt::Display for ValueRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRule::Constant(value) => write!(f, "{value}"),
            ValueRule::Scaling(law) => write!(f, "{law}"),
            ValueRule::Share(share) => write!(f, "{share}"),
            ValueRule::IterationException { when, numbers, .. } => write!(f, "{} {when}, else {}", numbers[0], numbers[1]),
            ValueRule::NeighbourCount { inside, less, .. } => write!(f, "{inside}, less {less} for each missing neighbour,"),
            ValueRule::ByRank(filter, yes, no) => write!(f, "{yes} for {filter}, else {no}"),
            ValueRule::Cycle(_, amounts) if amounts.len() > 4 => write!(f, "{} numbers in turn", amounts.len()),
            ValueRule::Cycle(_, amounts) => {
                write!(f, "in turn {}", amounts.iter().map(ValueRule::to_string).collect::<Vec<_>>().join("; "))
            }
            ValueRule::Arithmetic { first, step, .. } => write!(f, "{first}, {}, {} ..", first + step, first + 2 * step),
            ValueRule::Geometric { least, halves: false, .. } => write!(f, "{least}, {}, {} ..", least * 2, least * 4),
            ValueRule::Geometric { least, halves: true, .. } => write!(f, ".. {}, {}, {least}", least * 4, least * 2),
            ValueRule::OwnRank(more) => write!(f, "rank {more:+}"),
            ValueRule::PeerRank(more) => write!(f, "peer {more:+}"),
            ValueRule::PowerLaw { factor, exponent } => write!(f, "about {:.4} p^{:.2}", factor, exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extrapolation::process_grid::{GridRule, ProcessGrid};

    fn grids() -> Vec<ProcessGrid> {
        [4, 8, 16].map(|ranks| GridRule::Balanced(vec![0, 1]).grid(ranks).unwrap()).into()
    }

    fn found(
        grids: &[ProcessGrid],
        iterations: impl Fn(u32) -> Vec<LoopIteration>,
        value: impl Fn(RankPosition, &[LoopIteration]) -> i64,
    ) -> Option<ValueRule> {
        let positions = grids
            .iter()
            .zip([4, 8, 16])
            .flat_map(|(grid, ranks)| (0..ranks).map(move |rank| RankPosition { rank, rank_count: ranks, grid }));
        let positions: Vec<(RankPosition, Vec<LoopIteration>)> = positions
            .flat_map(|position| iterations(position.rank_count).into_iter().map(move |iteration| (position, vec![iteration])))
            .collect();
        let seen: Vec<ValueObservation> = positions
            .iter()
            .map(|(position, iterations)| ValueObservation {
                position: *position,
                iterations,
                peer: None,
                value: value(*position, iterations),
            })
            .collect();
        ValueRule::infer(&seen)
    }

    fn once(_: u32) -> Vec<LoopIteration> {
        vec![LoopIteration { index: 0, total: 1 }]
    }

    #[test]
    fn uneven_shares_of_a_dimension_are_recognised_and_extrapolated() {
        let grids = grids();
        let share = |n: i64, position: RankPosition| {
            let (index, parts) = (i64::from(position.coordinate(1)), i64::from(position.grid.side(1)));
            8 * (n / parts + i64::from(index < n % parts))
        };
        let rule = found(&grids, once, |position, _| share(101, position)).unwrap();
        let larger = GridRule::Balanced(vec![0, 1]).grid(64).unwrap();
        for rank in 0..64 {
            let position = RankPosition { rank, rank_count: 64, grid: &larger };
            assert_eq!(rule.evaluate(position, &[], None), share(101, position));
        }
    }

    #[test]
    fn what_doubles_from_round_to_round_is_recognised() {
        let iterations = |ranks: u32| (0..ranks.ilog2()).map(|number| LoopIteration { index: number, total: ranks.ilog2() }).collect();
        let rule = found(&grids(), iterations, |_, iterations| 8 << iterations[0].index);
        assert_eq!(rule, Some(ValueRule::Geometric { depth: 0, least: 8, halves: false }));
        let rule = found(&grids(), iterations, |position, iterations| i64::from(8 * position.rank_count) >> (iterations[0].index + 1));
        assert_eq!(rule, Some(ValueRule::Geometric { depth: 0, least: 8, halves: true }));
    }

    #[test]
    fn the_root_may_have_more_than_the_others() {
        let rule = found(&grids(), once, |position, _| if position.rank == 0 { 8 * i64::from(position.rank_count) } else { 0 }).unwrap();
        assert_eq!(rule.to_string(), "8 p for rank 0, else 0");
    }

    #[test]
    fn numbers_without_a_law_are_not_explained_exactly_but_about() {
        let grids = grids();
        let value = |position: RankPosition, _: &[LoopIteration]| 1000 + i64::from(position.rank * 7919 % 31);
        assert_eq!(found(&grids, once, value), None);
        let positions: Vec<RankPosition> = (0..16).map(|rank| RankPosition { rank, rank_count: 16, grid: &grids[2] }).collect();
        let seen: Vec<ValueObservation> = positions
            .iter()
            .map(|position| ValueObservation { position: *position, iterations: &[], peer: None, value: value(*position, &[]) })
            .collect();
        let about = ValueRule::fit_power_law(&seen).evaluate(positions[0], &[], None);
        assert!((1000..1031).contains(&about));
    }
}
