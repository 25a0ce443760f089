//! Filters for ranks and loop iterations.

use std::collections::BTreeSet;
use std::fmt;

use super::process_grid::RankPosition;

/// A set of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankFilter {
    /// All ranks.
    Everyone,
    /// Rank 0, or all others.
    FirstRank(bool),
    /// The last rank, or all others.
    LastRank(bool),
    /// Even or odd ranks.
    Even(bool),
    /// The lower or upper half.
    LowerHalf(bool),
    /// Ranks with a higher or lower peer.
    PeerAbove(bool),
    /// The root of a collective, or all others.
    IsRoot(bool),
    /// Ranks at the start of a dimension, or all others.
    DimensionStart(usize, bool),
    /// Ranks at the end of a dimension, or all others.
    DimensionEnd(usize, bool),
    /// Ranks with an even or odd coordinate.
    EvenCoordinate(usize, bool),
    /// Ranks with an even or odd sum of coordinates (checkerboard).
    EvenCoordinateSum(bool),
}

impl RankFilter {
    /// All filters for this number of dimensions, simple ones first.
    pub(super) fn all(dimensions: usize) -> Vec<RankFilter> {
        let both = |filter: fn(bool) -> RankFilter| [filter(true), filter(false)];
        let mut all = vec![RankFilter::Everyone];
        all.extend(
            [
                RankFilter::IsRoot,
                RankFilter::FirstRank,
                RankFilter::LastRank,
                RankFilter::Even,
                RankFilter::PeerAbove,
                RankFilter::LowerHalf,
            ]
            .into_iter()
            .flat_map(both),
        );
        for d in (0..dimensions).filter(|_| dimensions > 1) {
            all.extend(
                [RankFilter::DimensionStart, RankFilter::DimensionEnd, RankFilter::EvenCoordinate]
                    .into_iter()
                    .flat_map(|filter| [filter(d, true), filter(d, false)]),
            );
        }
        if dimensions > 1 {
            all.extend(both(RankFilter::EvenCoordinateSum));
        }
        all
    }

    /// Whether a rank, with its peer if any, is in the set.
    pub(super) fn matches(self, position: RankPosition, peer: Option<u32>) -> bool {
        match self {
            RankFilter::Everyone => true,
            RankFilter::FirstRank(yes) => (position.rank == 0) == yes,
            RankFilter::LastRank(yes) => (position.rank + 1 == position.rank_count) == yes,
            RankFilter::Even(yes) => position.rank.is_multiple_of(2) == yes,
            RankFilter::LowerHalf(yes) => (position.rank < position.rank_count.div_ceil(2)) == yes,
            RankFilter::PeerAbove(yes) => peer.is_some_and(|peer| if yes { peer > position.rank } else { peer < position.rank }),
            RankFilter::IsRoot(yes) => peer.is_some_and(|peer| (peer == position.rank) == yes),
            RankFilter::DimensionStart(d, yes) => (position.coordinate(d) == 0) == yes,
            RankFilter::DimensionEnd(d, yes) => (position.coordinate(d) + 1 == position.grid.side(d)) == yes,
            RankFilter::EvenCoordinate(d, yes) => position.coordinate(d).is_multiple_of(2) == yes,
            RankFilter::EvenCoordinateSum(yes) => {
                (0..position.grid.dimensions()).map(|d| position.coordinate(d)).sum::<u32>().is_multiple_of(2) == yes
            }
        }
    }
}

impl fmt::Display for RankFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |yes: &bool| if *yes { "" } else { "not " };
        match self {
            RankFilter::Everyone => write!(f, "all ranks"),
            RankFilter::FirstRank(true) => write!(f, "rank 0"),
            RankFilter::FirstRank(false) => write!(f, "all ranks but 0"),
            RankFilter::LastRank(true) => write!(f, "the last rank"),
            RankFilter::LastRank(false) => write!(f, "all ranks but the last"),
            RankFilter::Even(yes) => write!(f, "{} ranks", if *yes { "even" } else { "odd" }),
            RankFilter::LowerHalf(yes) => write!(f, "the {} half of the ranks", if *yes { "lower" } else { "upper" }),
            RankFilter::PeerAbove(yes) => write!(f, "ranks with a {} partner", if *yes { "higher" } else { "lower" }),
            RankFilter::IsRoot(true) => write!(f, "ranks that are the root"),
            RankFilter::IsRoot(false) => write!(f, "ranks that are not the root"),
            RankFilter::DimensionStart(d, yes) => write!(f, "ranks {}at the start of dimension {}", not(yes), d + 1),
            RankFilter::DimensionEnd(d, yes) => write!(f, "ranks {}at the end of dimension {}", not(yes), d + 1),
            RankFilter::EvenCoordinate(d, yes) => {
                write!(f, "ranks with an {} coordinate in dimension {}", if *yes { "even" } else { "odd" }, d + 1)
            }
            RankFilter::EvenCoordinateSum(yes) => write!(f, "ranks with an {} sum of coordinates", if *yes { "even" } else { "odd" }),
        }
    }
}

/// An iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct LoopIteration {
    /// Index from 0.
    pub index: u32,
    /// Iteration count of the loop.
    pub total: u32,
}

/// A set of loop iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IterationFilter {
    /// All iterations.
    Always,
    /// The first iteration, or all others.
    FirstRound(bool),
    /// The last iteration, or all others.
    LastRound(bool),
    /// Cyclic pattern.
    Cycle(Vec<bool>),
}

impl IterationFilter {
    /// Whether an iteration is in the set.
    pub(super) fn matches(&self, iteration: LoopIteration) -> bool {
        match self {
            IterationFilter::Always => true,
            IterationFilter::FirstRound(yes) => (iteration.index == 0) == *yes,
            IterationFilter::LastRound(yes) => (iteration.index + 1 == iteration.total) == *yes,
            IterationFilter::Cycle(done) => done[iteration.index as usize % done.len()],
        }
    }

    /// The filter that reproduces the observations, if any.
    pub(super) fn infer(seen: &[(LoopIteration, bool)]) -> Option<IterationFilter> {
        let simple = [
            IterationFilter::Always,
            IterationFilter::FirstRound(true),
            IterationFilter::FirstRound(false),
            IterationFilter::LastRound(true),
            IterationFilter::LastRound(false),
        ];
        let fits = |filter: &IterationFilter| seen.iter().all(|(iteration, done)| filter.matches(*iteration) == *done);
        simple.into_iter().find(fits).or_else(|| find_cycle(seen).map(IterationFilter::Cycle))
    }
}

/// The shortest cycle of values seen at least twice; or all values, if every loop is equally long.
pub(super) fn find_cycle<T: Clone + PartialEq>(seen: &[(LoopIteration, T)]) -> Option<Vec<T>> {
    let shortest = seen.iter().map(|(iteration, _)| iteration.total).min()?;
    let longest = seen.iter().map(|(iteration, _)| iteration.total).max()?;
    let all = (shortest == longest).then(|| cycle_of_length(seen, longest as usize, 1)).flatten();
    (1..=shortest / 2).find_map(|length| cycle_of_length(seen, length as usize, 2)).or(all)
}

/// A cycle of this length, each of whose values was seen in at least `times` iterations.
fn cycle_of_length<T: Clone + PartialEq>(seen: &[(LoopIteration, T)], length: usize, times: usize) -> Option<Vec<T>> {
    let mut values: Vec<(Option<&T>, BTreeSet<u32>)> = vec![(None, BTreeSet::new()); length];
    for (iteration, value) in seen {
        let (known, iterations) = &mut values[iteration.index as usize % length];
        if known.is_some_and(|known| known != value) {
            return None;
        }
        *known = Some(value);
        if iterations.len() < times {
            iterations.insert(iteration.index);
        }
    }
    values.into_iter().map(|(value, iterations)| value.filter(|_| iterations.len() >= times).cloned()).collect()
}

impl fmt::Display for IterationFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IterationFilter::Always => write!(f, "in every iteration"),
            IterationFilter::FirstRound(yes) => {
                write!(f, "in {}", if *yes { "the first iteration" } else { "all iterations but the first" })
            }
            IterationFilter::LastRound(yes) => write!(f, "in {}", if *yes { "the last iteration" } else { "all iterations but the last" }),
            IterationFilter::Cycle(done) => write!(f, "in {} of {} iterations", done.iter().filter(|done| **done).count(), done.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(of: u32, done: impl Fn(u32) -> bool) -> Vec<(LoopIteration, bool)> {
        (0..of).map(|number| (LoopIteration { index: number, total: of }, done(number))).collect()
    }

    #[test]
    fn every_tenth_iteration_is_a_cycle_and_the_first_and_last_are_not() {
        assert_eq!(
            IterationFilter::infer(&seen(40, |iteration| iteration % 10 == 9)).map(|filter| filter.to_string()),
            Some("in 1 of 10 iterations".into())
        );
        assert_eq!(IterationFilter::infer(&seen(40, |iteration| iteration > 0)), Some(IterationFilter::FirstRound(false)));
        let both = [seen(4, |iteration| iteration == 3), seen(8, |iteration| iteration == 7)].concat();
        assert_eq!(IterationFilter::infer(&both), Some(IterationFilter::LastRound(true)));
    }

    #[test]
    fn rounds_without_order_in_loops_of_different_length_are_not_explained() {
        let both = [seen(5, |iteration| iteration == 2 || iteration == 3), seen(7, |iteration| iteration == 2)].concat();
        assert_eq!(IterationFilter::infer(&both), None);
        assert!(
            IterationFilter::infer(&seen(5, |iteration| iteration == 2 || iteration == 3)).is_some(),
            "but it can be inferred for loops of one length"
        );
    }
}
