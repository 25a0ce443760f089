//! Single runs that something else on the machine has slowed down.
//!
//! Their times are no noise around the formula: counted as such they widen every interval. A run is left out if the measurements without it, together
//! with the probability of such a disturbance, are more probable than all of them with noise only.

use crate::measurements::{DataPoint, Measurements};
use crate::sample::median;
use std::collections::BTreeSet;

/// At most one run of this many is left out.
const RUNS_PER_DISTURBED: usize = 8;

/// Fewer runs than this do not tell.
const MIN_RUNS: usize = 6;

/// The logarithm of the probability that a run is disturbed, times the density of its logarithm: up to twenty times slower.
pub(super) const LOG_DENSITY: f64 = -5.0;

/// A run is suspicious if it is slower than the forms say by this many typical deviations of the runs, and by this, as a logarithm.
const SUSPICIOUS_DEVIATIONS: f64 = 4.0;
const SUSPICIOUS: f64 = 0.1;

/// The standard deviation of a normal distribution is this many times the median of its absolute values.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;

/// How many runs may be left out.
pub(super) fn max_count(measurements: &Measurements) -> usize {
    let runs: usize = measurements.points().iter().map(|point| point.values.len()).sum();
    if runs < MIN_RUNS { 0 } else { runs.div_ceil(RUNS_PER_DISTURBED) }
}

/// Up to `count` of the most suspicious runs, each as the indices of its setting and of its value there; `None` if none can be left out.
pub(super) fn most_suspicious(measurements: &Measurements, expected_logs: &[f64], count: usize) -> Option<BTreeSet<(usize, usize)>> {
    let points = measurements.points();
    let errors = |(index, point): (usize, &DataPoint)| {
        let error = |value: &f64| value.ln() - expected_logs[index];
        point.values.iter().map(error).enumerate().map(|(run, error)| (error, index, run)).collect::<Vec<_>>()
    };
    let mut errors: Vec<(f64, usize, usize)> = points.iter().enumerate().flat_map(errors).collect();
    let sizes: Vec<f64> = errors.iter().map(|(error, ..)| error.abs()).collect();
    let limit = SUSPICIOUS.max(SUSPICIOUS_DEVIATIONS * DEVIATION_OF_MEDIAN * median(&sizes).ok()?);
    errors.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left_out = BTreeSet::new();
    for (_, index, run) in errors.into_iter().take(count).take_while(|(error, ..)| *error > limit) {
        let others = points[index].values.len() - 1 - left_out.iter().filter(|(setting, _)| *setting == index).count();
        if others == 0 && !is_inside(measurements, &points[index].at) {
            break;
        }
        left_out.insert((index, run));
    }
    (!left_out.is_empty()).then_some(left_out)
}

/// Whether a setting is neither the smallest nor the largest value of any parameter: what is measured at the ends has no neighbours to tell a
/// disturbance from a change of the growth.
fn is_inside(measurements: &Measurements, at: &[f64]) -> bool {
    at.iter().enumerate().all(|(parameter, value)| {
        let values = measurements.distinct_values(parameter);
        values.first() < Some(value) && Some(value) < values.last()
    })
}
