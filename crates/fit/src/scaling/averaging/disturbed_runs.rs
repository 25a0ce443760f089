//! Single runs that something else on the machine has slowed down.
//!
//! Their times are no noise around the law: counted as such they widen every interval. A run is left out if the measurements without it, together
//! with the probability of such a disturbance, are more probable than all of them with noise only.

use crate::measurements::{DataPoint, Measurements};
use crate::sample::median;

/// At most one run of this many is left out.
const RUNS_PER_DISTURBED: usize = 8;

/// Fewer runs than this do not tell.
const MIN_RUNS: usize = 6;

/// The logarithm of the probability that a run is disturbed, times the density of its logarithm: up to twenty times slower.
pub(super) const LOG_DENSITY: f64 = -5.0;

/// A run is suspicious if it is slower than the law says by this many typical deviations of the runs, and by this, as a logarithm.
const SUSPICIOUS_DEVIATIONS: f64 = 4.0;
const SUSPICIOUS: f64 = 0.1;

/// The standard deviation of a normal distribution is this many times the median of its absolute values.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;

/// How many runs may be left out.
pub(super) fn max_count(measurements: &Measurements) -> usize {
    let runs: usize = measurements.points().iter().map(|point| point.values.len()).sum();
    if runs < MIN_RUNS { 0 } else { runs.div_ceil(RUNS_PER_DISTURBED) }
}

/// The measurements without the most suspicious run; `None` if there is none that can be left out.
pub(super) fn without_most_suspicious(measurements: &Measurements, expected_logs: &[f64]) -> Option<Measurements> {
    let points = measurements.points();
    let errors = |(index, point): (usize, &DataPoint)| {
        let error = |value: &f64| value.ln() - expected_logs[index];
        point.values.iter().map(error).enumerate().map(|(run, error)| (error, index, run)).collect::<Vec<_>>()
    };
    let errors: Vec<(f64, usize, usize)> = points.iter().enumerate().flat_map(errors).collect();
    let (largest, index, run) = *errors.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let sizes: Vec<f64> = errors.iter().map(|(error, ..)| error.abs()).collect();
    let typical = DEVIATION_OF_MEDIAN * median(&sizes).ok()?;
    let is_suspicious = largest > SUSPICIOUS && largest > SUSPICIOUS_DEVIATIONS * typical;
    let can_be_left_out = points[index].values.len() > 1 || is_inside(measurements, &points[index].at);
    (is_suspicious && can_be_left_out).then(|| measurements.without_run(index, run))
}

/// Whether a setting is neither the smallest nor the largest value of any parameter: what is measured at the ends has no neighbours to tell a
/// disturbance from a change of the law.
fn is_inside(measurements: &Measurements, at: &[f64]) -> bool {
    at.iter().enumerate().all(|(parameter, value)| {
        let values = measurements.distinct_values(parameter);
        values.first() < Some(value) && Some(value) < values.last()
    })
}
