//! How much two runs of a program differ, estimated from one of them.
//!
//! What disturbs a machine for seconds does not average out over a run. So the same computation in several parts of the run differs about as
//! much as it does between two runs.

use std::collections::BTreeMap;

use super::inputs::{SegmentLoad, WINDOWS};
use crate::segment::Segment;

/// Two runs of a program differ by at least this share, also on a quiet machine.
pub(super) const MIN_VARIATION: f64 = 0.01;

/// With fewer executions in each part of the run, their median says little about the machine.
const MIN_VISITS: u64 = 4 * WINDOWS as u64;

/// The standard deviation of the time of a run, as a share of it: the median over all computation of how much it differs from part to
/// part of the run. A median, because a program may do more and more somewhere.
pub(super) fn relative_variation(loads: &BTreeMap<Segment, BTreeMap<u32, SegmentLoad>>) -> f64 {
    let repeated = loads.values().flat_map(BTreeMap::values).filter(|load| load.visits >= MIN_VISITS);
    let mut variations: Vec<(f64, i64)> = repeated.map(|load| (part_variation(load), load.ns())).collect();
    variations.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let half_ns = variations.iter().map(|(_, ns)| ns).sum::<i64>() / 2;
    let mut sum_ns = 0;
    let median = variations.iter().find(|(_, ns)| {
        sum_ns += ns;
        sum_ns >= half_ns
    });
    median.map_or(MIN_VARIATION, |(variation, _)| variation.max(MIN_VARIATION))
}

/// How much the parts of a run differ: by the medians of their executions, which a hiccup does not change, or by their sums, which do not
/// jump where long and short executions alternate. The lower one of both.
fn part_variation(load: &SegmentLoad) -> f64 {
    deviation(&load.medians).min(deviation(&load.windows))
}

/// The standard deviation, as a share of the mean.
fn deviation(times_ns: &[i64; WINDOWS]) -> f64 {
    let mean = times_ns.iter().sum::<i64>() as f64 / WINDOWS as f64;
    let squares: f64 = times_ns.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
    if mean > 0.0 { (squares / (WINDOWS - 1) as f64).sqrt() / mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(visits: &[&[i64]]) -> BTreeMap<Segment, BTreeMap<u32, SegmentLoad>> {
        let segment = |(from, visits): (u32, &&[i64])| (Segment { from, to: from + 1 }, [(0, SegmentLoad::from_visits(visits))].into());
        (0..).zip(visits).map(segment).collect()
    }

    #[test]
    fn the_parts_of_a_run_differ_like_runs() {
        let mut quarters = [[100; 4], [110; 4], [100; 4], [90; 4]].concat();
        let variation = relative_variation(&loads(&[&quarters]));
        assert!((variation - 0.0816).abs() < 1e-3, "{variation}");
        quarters[2] = 5000;
        assert_eq!(relative_variation(&loads(&[&quarters])), variation, "one long execution is no variation of the machine");
    }

    #[test]
    fn long_and_short_executions_in_turn_are_no_variation() {
        let alternating: Vec<i64> = (0..404).map(|visit| if visit % 2 == 0 { 100 } else { 1 }).collect();
        let variation = relative_variation(&loads(&[&alternating]));
        assert!(variation < 0.02, "{variation}");
    }

    #[test]
    fn growing_work_and_work_done_once_do_not_count() {
        let (steady, growing): (Vec<i64>, Vec<i64>) = (0..32).map(|visit| (1000, 10 * visit)).unzip();
        assert_eq!(relative_variation(&loads(&[&steady, &growing, &[5, 9000]])), MIN_VARIATION);
        assert_eq!(relative_variation(&loads(&[])), MIN_VARIATION);
    }
}
