//! Load imbalance: which ranks compute longer than the others, where, and when.
//!
//! One diagnosis for all patterns, so that a segment gets one of them: what the busiest rank computes more than the mean in total is compared
//! with what the critical path has more than the mean. If it explains most of that, the same ranks are late; else the late rank changes.
//! Segments in which the same ranks are late have one cause: these ranks have more of the data. They are one imbalance.

use std::collections::BTreeMap;

use super::NOISE_SHARE;
use super::inputs::{SegmentLoad, WINDOWS};
use super::rule_context::{RuleContext, busiest_rank, mean_load};
use crate::segment::Segment;

/// What happens only once must exceed one part in this many of the run.
pub(super) const ONCE_SHARE: i64 = 10;

/// If the same ranks are late, a difference from the mean below one part in this many is not worth a change.
const MIN_STATIC_EXCESS: i64 = 20;

/// Variation below one part in this many is system noise.
const MIN_VARIATION: i64 = 10;

/// Minimum number of executions to detect that the late rank changes.
const MIN_VISITS: u64 = 4;

/// Which ranks compute longer, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImbalancePattern {
    /// The same ranks, from the first execution to the last.
    Throughout,
    /// The same ranks, more and more.
    Growing,
    /// The same ranks, in a few executions only.
    NowAndThen,
    /// A different rank each time.
    Moving,
}

/// An imbalance.
pub(super) struct LoadImbalance {
    pub pattern: ImbalancePattern,
    /// The ranks that compute longer; all of them if the late rank changes.
    pub ranks: Vec<u32>,
    /// The segments, largest excess first.
    pub segments: Vec<Segment>,
    /// What an even distribution could save at most, in nanoseconds.
    pub excess_ns: i64,
}

impl LoadImbalance {
    /// The imbalances of a run in which the same ranks compute longer.
    pub(super) fn of_same_ranks(context: &RuleContext) -> Vec<LoadImbalance> {
        let mut groups: BTreeMap<Vec<u32>, Vec<SegmentImbalance>> = BTreeMap::new();
        for imbalance in context.segments().filter_map(|segment| SegmentImbalance::of_same_ranks(context, segment)) {
            groups.entry(imbalance.ranks.clone()).or_default().push(imbalance);
        }
        groups.into_iter().filter_map(|(ranks, segments)| LoadImbalance::from_segments(context, ranks, segments)).collect()
    }

    /// The imbalance of some ranks in all segments in which they compute longer; `None` if it is not worth mentioning.
    fn from_segments(context: &RuleContext, ranks: Vec<u32>, mut segments: Vec<SegmentImbalance>) -> Option<LoadImbalance> {
        segments.sort_by_key(|imbalance| (std::cmp::Reverse(imbalance.excess_ns), imbalance.segment));
        let excess_ns: i64 = segments.iter().map(|imbalance| imbalance.excess_ns).sum();
        let happens_once = segments.iter().all(|imbalance| imbalance.happens_once);
        let is_worth = !happens_once || ONCE_SHARE * excess_ns >= context.run_ns();
        is_worth.then(|| LoadImbalance {
            pattern: segments[0].pattern,
            ranks,
            segments: segments.iter().map(|imbalance| imbalance.segment).collect(),
            excess_ns,
        })
    }

    /// The imbalance of a segment for which the late rank changes.
    pub(super) fn of_changing_rank(context: &RuleContext, segment: Segment) -> Option<LoadImbalance> {
        let loads = context.loads(segment);
        let (_, most) = busiest_rank(&loads).filter(|_| loads.len() > 1)?;
        let mean = mean_load(&loads);
        let path_ns = context.critical_path_ns(segment) - mean;
        let visits: u64 = loads.values().map(|load| load.visits).sum();
        let is_moving = !is_same_rank(most - mean, path_ns)
            && visits >= MIN_VISITS * loads.len() as u64
            && path_ns > (mean / MIN_VARIATION).max(context.run_ns() / NOISE_SHARE);
        is_moving.then(|| LoadImbalance {
            pattern: ImbalancePattern::Moving,
            ranks: loads.keys().copied().collect(),
            segments: vec![segment],
            excess_ns: path_ns,
        })
    }
}

/// Whether what the busiest rank has more than the mean explains most of what the critical path has more than the mean.
fn is_same_rank(same_ns: i64, path_ns: i64) -> bool {
    2 * same_ns >= path_ns
}

/// The imbalance of a segment in which the same ranks compute longer.
struct SegmentImbalance {
    segment: Segment,
    pattern: ImbalancePattern,
    ranks: Vec<u32>,
    excess_ns: i64,
    /// Whether a single execution is late.
    happens_once: bool,
}

impl SegmentImbalance {
    fn of_same_ranks(context: &RuleContext, segment: Segment) -> Option<SegmentImbalance> {
        let loads = context.loads(segment);
        let (rank, most) = busiest_rank(&loads).filter(|_| loads.len() > 1)?;
        let (busiest, mean) = (&loads[&rank], mean_load(&loads));
        let excess_ns = most - mean;
        let is_same = is_same_rank(excess_ns, context.critical_path_ns(segment) - mean);
        if !is_same || MIN_STATIC_EXCESS * excess_ns < mean || is_chance(busiest, excess_ns, &loads) {
            return None;
        }
        let pattern = pattern_of(busiest, mean, &loads);
        let happens_once = busiest.visits == 1 || pattern == ImbalancePattern::NowAndThen && busiest.long_visits == 1;
        Some(SegmentImbalance { segment, pattern, ranks: overloaded_ranks(&loads), excess_ns, happens_once })
    }
}

/// Whether the busiest rank has at most one execution more than the mean, and does not usually take longer: where executions differ, or ranks
/// take pieces of work as they become free, one of them has the most.
fn is_chance(busiest: &SegmentLoad, excess_ns: i64, loads: &BTreeMap<u32, SegmentLoad>) -> bool {
    let is_one = busiest.visits >= MIN_VISITS && excess_ns <= busiest.ns() / busiest.visits as i64;
    is_one && usual_excess(busiest, loads).iter().any(|excess| *excess <= 0)
}

/// How much longer a usual execution takes than on the mean rank, in each part of the run.
fn usual_excess(busiest: &SegmentLoad, loads: &BTreeMap<u32, SegmentLoad>) -> [i64; WINDOWS] {
    std::array::from_fn(|window| {
        let all: i64 = loads.values().map(|load| load.medians[window]).sum();
        busiest.medians[window] - all / loads.len() as i64
    })
}

/// When the busiest rank computes longer than the mean.
fn pattern_of(busiest: &SegmentLoad, mean: i64, loads: &BTreeMap<u32, SegmentLoad>) -> ImbalancePattern {
    let excess = busiest.ns() - mean;
    let is_rare = busiest.visits >= MIN_VISITS && 4 * busiest.long_visits <= busiest.visits && 4 * busiest.long_excess_ns >= 3 * excess;
    // Where all ranks have a few long executions, these are the computation, and the others the short ones around it.
    let all_long: u64 = loads.values().map(|load| load.long_visits).sum();
    let others_long = (all_long - busiest.long_visits) as f64 / (loads.len() - 1).max(1) as f64;
    if is_rare && others_long <= 0.5 * busiest.long_visits as f64 {
        return ImbalancePattern::NowAndThen;
    }
    let parts = usual_excess(busiest, loads);
    let grows = busiest.visits >= 2 * MIN_VISITS
        && parts.is_sorted()
        && parts[WINDOWS - 1] > 2 * parts[0].max(0)
        && 3 * parts[WINDOWS - 1] > parts.iter().sum();
    if grows { ImbalancePattern::Growing } else { ImbalancePattern::Throughout }
}

/// The ranks far above the mean.
fn overloaded_ranks(loads: &BTreeMap<u32, SegmentLoad>) -> Vec<u32> {
    let mean = mean_load(loads);
    let most = busiest_rank(loads).map_or(0, |(_, ns)| ns);
    loads.iter().filter(|(_, load)| load.ns() > mean + (most - mean) / 2).map(|(rank, _)| *rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(busiest: &[i64], other: &[i64]) -> BTreeMap<u32, SegmentLoad> {
        [(0, other), (1, busiest), (2, other)].map(|(rank, visits)| (rank, SegmentLoad::from_visits(visits))).into()
    }

    fn pattern(busiest: &[i64]) -> ImbalancePattern {
        let loads = loads(busiest, &[10; 16]);
        pattern_of(&loads[&1], mean_load(&loads), &loads)
    }

    #[test]
    fn a_rank_is_late_throughout_the_run_more_and_more_or_now_and_then() {
        assert_eq!(pattern(&[30; 16]), ImbalancePattern::Throughout);
        let growing: Vec<i64> = (0..16).map(|visit| 10 + 5 * visit).collect();
        assert_eq!(pattern(&growing), ImbalancePattern::Growing);
        let mut twice = [10; 16];
        (twice[5], twice[11]) = (400, 400);
        assert_eq!(pattern(&twice), ImbalancePattern::NowAndThen);
        let in_turn = |long: i64| -> Vec<i64> { (0..24).map(|visit| if visit % 6 == 0 { long } else { 1 }).collect() };
        let all_long = loads(&in_turn(70), &in_turn(30));
        let pattern_of_all = pattern_of(&all_long[&1], mean_load(&all_long), &all_long);
        assert_eq!(pattern_of_all, ImbalancePattern::Throughout, "other executions of the same line are short on all ranks");
        let mut hiccup = [30; 16];
        hiccup[3] = 60;
        assert_eq!(pattern(&hiccup), ImbalancePattern::Throughout, "one long execution does not hide the others");
    }
}
