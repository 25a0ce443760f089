//! The value at each point, and the noise, from repetitions.
//!
//! The mean is the most efficient summary of well-behaved repetitions, but not robust to outliers. A point's value is its mean unless one of
//! its repetitions is an outlier relative to the spread at all points; then it is the median, and the outlier is reported.

use super::{MAX_PARAMETERS, ParameterKind};
use crate::measurements::Measurements;
use crate::sample::{mean, quantile};
use crate::stats::f_survival;

/// A repetition this many standard deviations from the median is an outlier.
const OUTLIER_DISTANCE: f64 = 5.0;
/// The maximum weight, in points, of a noise estimate from repetitions; runs differ by more than the repetitions in them.
const MAX_DOF: f64 = 5.0;
/// The assumed relative noise when nothing was repeated.
const DEFAULT_NOISE: f64 = 0.005;
/// How the noise may grow with the value, and the prior probability of each.
const GROWTHS: [(f64, f64); 5] = [(0.0, 0.2), (0.25, 0.05), (0.5, 0.1), (0.75, 0.05), (1.0, 0.6)];
/// No clock and no machine is steadier than this.
const MIN_NOISE: f64 = 1e-4;

/// The points' values, and what their repetitions say about the noise.
#[derive(Debug, Clone)]
pub(super) struct SummarisedPoints {
    /// The value of each point.
    pub values: Vec<f64>,
    /// The expected value of each point, from which its weight follows.
    expected: Vec<f64>,
    /// The geometric mean of the expected values.
    typical: f64,
    /// The relative spread of single repetitions, if there are any.
    pub repetition_spread: Option<f64>,
    /// How the noise grows with the value, from the repetitions: 1 if proportional, 0 if constant.
    pub growth: Option<f64>,
    /// The number of outliers.
    pub outliers: usize,
    /// Sum of squares around the mean and degrees of freedom, for each point without outliers.
    scatter: Vec<(f64, f64)>,
    /// The mean of one over the number of repetitions.
    mean_inverse_count: f64,
    /// What the parameters are.
    pub parameter_kinds: [ParameterKind; MAX_PARAMETERS],
}

/// The noise estimate before anything is fitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoisePrior {
    /// The variance of a point's value, times its weight.
    pub variance: f64,
    /// How many points the estimate is worth.
    pub degrees_of_freedom: f64,
}

impl SummarisedPoints {
    pub(super) fn from_measurements(measurements: &Measurements) -> Self {
        let points = measurements.points();
        let mut sorted = Vec::new();
        let middles: Vec<f64> = points.iter().map(|p| median_into(&p.values, &mut sorted)).collect();
        let limit = OUTLIER_DISTANCE * typical_spread(measurements, &middles);
        let mut summary = Self {
            values: Vec::with_capacity(points.len()),
            expected: Vec::new(),
            typical: 1.0,
            repetition_spread: None,
            growth: None,
            outliers: 0,
            scatter: Vec::with_capacity(points.len()),
            mean_inverse_count: 0.0,
            parameter_kinds: measurements.parameter_kinds(),
        };
        for (point, &middle) in points.iter().zip(&middles) {
            let far = point.values.iter().filter(|v| (**v - middle).abs() > limit * middle).count();
            let count = point.values.len() as f64;
            summary.mean_inverse_count += 1.0 / count / points.len() as f64;
            summary.outliers += far;
            let value = if far > 0 { middle } else { mean(&point.values) };
            let squares = point.values.iter().map(|v| (v - value).powi(2)).sum::<f64>();
            summary.values.push(value);
            summary.scatter.push(if far > 0 { (0.0, 0.0) } else { (squares, count - 1.0) });
        }
        summary.expected.clone_from(&summary.values);
        summary.typical = geometric_mean(&summary.values);
        summary.repetition_spread = summary.repetition_variance(&summary.root_weights(1.0)).map(f64::sqrt);
        summary.growth = summary.estimate_growth();
        summary
    }

    /// The square roots of the points' weights if the noise grows with this power of the value.
    ///
    /// They are scaled so that weighted errors are relative errors at a typical point, whatever the growth.
    pub(super) fn root_weights(&self, growth: f64) -> Vec<f64> {
        self.expected.iter().map(|y| 1.0 / (fast_power(y / self.typical, growth) * self.typical)).collect()
    }

    /// With weights from the values of a first fit, since weights from noisy values favour low ones.
    pub(super) fn with_expected(&self, relative_errors: &[f64]) -> Self {
        let thought: Vec<f64> = self.values.iter().zip(relative_errors).map(|(y, e)| y * (1.0 + e.clamp(-0.7, 2.0))).collect();
        Self { typical: geometric_mean(&thought), expected: thought, ..self.clone() }
    }

    /// The noise estimate from the repetitions.
    pub(super) fn noise_prior(&self, root_weights: &[f64]) -> NoisePrior {
        let freedom: f64 = self.scatter.iter().map(|s| s.1).sum();
        match self.repetition_variance(root_weights) {
            Some(single) => NoisePrior { variance: single * self.mean_inverse_count, degrees_of_freedom: freedom.min(MAX_DOF) },
            None => NoisePrior { variance: DEFAULT_NOISE * DEFAULT_NOISE, degrees_of_freedom: 1.0 },
        }
    }

    /// The p-value of a variance this many times that of the repetitions; 1 if nothing was repeated.
    pub(super) fn noise_p_value(&self, times: f64, freedom: f64) -> f64 {
        let repeated: f64 = self.scatter.iter().map(|s| s.1).sum();
        if repeated > 0.0 { f_survival(times, freedom, repeated) } else { 1.0 }
    }

    fn repetition_variance(&self, root_weights: &[f64]) -> Option<f64> {
        let freedom: f64 = self.scatter.iter().map(|s| s.1).sum();
        let squares: f64 = self.scatter.iter().zip(root_weights).map(|(s, w)| s.0 * w * w).sum();
        (freedom > 0.0).then(|| (squares / freedom).max(MIN_NOISE * MIN_NOISE))
    }

    /// The growth of the noise that the repetitions suggest; proportional to the value by default.
    fn estimate_growth(&self) -> Option<f64> {
        let freedom: f64 = self.scatter.iter().map(|s| s.1).sum();
        if freedom < 8.0 {
            return None;
        }
        let scale: f64 = self.scatter.iter().zip(&self.expected).map(|(s, y)| s.1 * (y / self.typical).ln()).sum();
        let likelihood = |growth: f64| Some(-growth * scale - 0.5 * freedom * self.repetition_variance(&self.root_weights(growth))?.ln());
        let likely = GROWTHS.into_iter().filter_map(|(growth, log_posterior)| Some((growth, likelihood(growth)? + log_posterior.ln())));
        likely.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(growth, _)| growth)
    }
}

/// A power, as a root where possible.
fn fast_power(number: f64, power: f64) -> f64 {
    match power {
        0.0 => 1.0,
        0.25 => number.sqrt().sqrt(),
        0.5 => number.sqrt(),
        0.75 => number.sqrt() * number.sqrt().sqrt(),
        1.0 => number,
        power => number.powf(power),
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|y| y.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// The median; `sorted` is scratch space.
fn median_into(values: &[f64], sorted: &mut Vec<f64>) -> f64 {
    sorted.clear();
    sorted.extend_from_slice(values);
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(sorted, 0.5)
}

/// The typical relative distance of a repetition from its median, as a standard deviation; infinite with too few repetitions.
fn typical_spread(measurements: &Measurements, middles: &[f64]) -> f64 {
    let repeated = measurements.points().iter().zip(middles).filter(|(p, _)| p.values.len() >= 3);
    let mut distances: Vec<f64> = repeated.flat_map(|(p, m)| p.values.iter().map(move |v| (v / m - 1.0).abs())).collect();
    if distances.len() < 9 {
        return f64::INFINITY;
    }
    // The median itself is at distance zero, which biases the median of few distances: the upper quartile is more stable.
    let place = (distances.len() - 1) * 3 / 4;
    let (_, quartile, _) = distances.select_nth_unstable_by(place, f64::total_cmp);
    (*quartile / 1.15).max(MIN_NOISE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::DataPoint;

    fn measured(values: &[&[f64]]) -> Measurements {
        let points = values.iter().enumerate().map(|(i, v)| DataPoint { at: vec![i as f64 + 1.0], values: v.to_vec() }).collect();
        Measurements::new(vec!["n".into()], points).unwrap()
    }

    #[test]
    fn a_point_is_its_mean_unless_a_repetition_lies_far_out() {
        let steady = [9.9, 10.0, 10.4];
        let summary = SummarisedPoints::from_measurements(&measured(&[&steady, &steady, &steady, &[10.0, 10.1, 30.0]]));
        assert!((summary.values[0] - 10.1).abs() < 1e-12);
        assert_eq!(summary.values[3], 10.1);
        assert_eq!(summary.outliers, 1);
    }

    #[test]
    fn without_repetitions_the_noise_is_a_guess_worth_one_point() {
        let summary = SummarisedPoints::from_measurements(&measured(&[&[1.0], &[2.0], &[3.0]]));
        assert_eq!(summary.repetition_spread, None);
        assert_eq!(summary.noise_prior(&summary.root_weights(1.0)).degrees_of_freedom, 1.0);
    }
}
