//! The noise: standard deviations that are possible, with what repetitions say about each.

use crate::measurements::Measurements;
use std::f64::consts::TAU;

/// The standard deviations of a setting's mean that are tried, as a logarithm of the value.
const DEVIATIONS: usize = 15;
const MIN_DEVIATION: f64 = 5e-4;
const MAX_DEVIATION: f64 = 0.7;

/// No repetitions agree better than this.
const MIN_VARIANCE: f64 = 1e-8;

/// By how much more runs may differ than the repetitions in them, with probabilities.
const BETWEEN_RUNS: [(f64, f64); 4] = [(0.0, 0.65), (1.0, 0.25), (3.0, 0.07), (10.0, 0.03)];

/// The logarithms of the measured values, and their noise.
pub(super) struct NoiseGrid {
    /// The mean of the logarithms at each setting.
    pub log_values: Vec<f64>,
    /// The variance of each setting's mean, relative to that of a typical one.
    pub relative_variances: Vec<f64>,
    pub deviations: Vec<NoiseDeviation>,
    /// The logarithm of the density of the repetitions around their means, over all sizes of the noise.
    pub log_density: f64,
}

/// A possible standard deviation of a setting's mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoiseDeviation {
    pub deviation: f64,
    pub log_deviation: f64,
    /// One over its square.
    pub precision: f64,
    /// The logarithm of its probability, from the repetitions.
    pub log_probability: f64,
    /// The scale of the error of a further run.
    pub of_run: f64,
}

impl NoiseDeviation {
    fn new(deviation: f64, log_probability: f64, of_run: f64) -> Self {
        Self { deviation, log_deviation: deviation.ln(), precision: deviation.powi(-2), log_probability, of_run }
    }
}

impl NoiseGrid {
    pub(super) fn from_measurements(measurements: &Measurements) -> Self {
        let logs: Vec<Vec<f64>> = measurements.points().iter().map(|point| point.values.iter().map(|v| v.ln()).collect()).collect();
        let log_values: Vec<f64> = logs.iter().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64).collect();
        let typical_count = logs.len() as f64 / logs.iter().map(|logs| 1.0 / logs.len() as f64).sum::<f64>();
        let freedom: f64 = logs.iter().map(|logs| (logs.len() - 1) as f64).sum();
        let squares = |(logs, mean): (&Vec<f64>, &f64)| logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        let squares = logs.iter().zip(&log_values).map(squares).sum::<f64>().max(freedom * MIN_VARIANCE);
        let step = (MAX_DEVIATION / MIN_DEVIATION).ln() / (DEVIATIONS - 1) as f64;
        let deviation = |index: usize| MIN_DEVIATION * (step * index as f64).exp();
        let mut deviations: Vec<NoiseDeviation> =
            (0..DEVIATIONS).map(|index| noise_deviation(deviation(index), typical_count, freedom, squares)).collect();
        let all = log_sum(deviations.iter().map(|deviation| deviation.log_probability));
        deviations.iter_mut().for_each(|deviation| deviation.log_probability -= all);
        let runs: usize = logs.iter().map(Vec::len).sum();
        let counts: f64 = logs.iter().map(|logs| (logs.len() as f64).ln()).sum();
        let log_density = all - (DEVIATIONS as f64).ln() - 0.5 * (runs as f64 * TAU.ln() + counts);
        let relative_variances = logs.iter().map(|logs| typical_count / logs.len() as f64).collect();
        Self { log_values, relative_variances, deviations, log_density }
    }
}

fn noise_deviation(deviation: f64, typical_count: f64, freedom: f64, squares: f64) -> NoiseDeviation {
    if freedom == 0.0 {
        return NoiseDeviation::new(deviation, 0.0, deviation);
    }
    let parts = BETWEEN_RUNS.map(|(more, probability)| {
        let of_repetition = (deviation.powi(2) * typical_count / (1.0 + more * more)).max(MIN_VARIANCE);
        let log_likelihood = -0.5 * (freedom * of_repetition.ln() + squares / of_repetition);
        (probability.ln() + log_likelihood, of_repetition * (1.0 + more * more / typical_count))
    });
    let log_probability = log_sum(parts.iter().map(|part| part.0));
    let variance: f64 = parts.iter().map(|(log, variance)| (log - log_probability).exp() * variance).sum();
    NoiseDeviation::new(deviation, log_probability, variance.sqrt())
}

/// The logarithm of the sum of numbers given by their logarithms.
pub(super) fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + logs.map(|log| (log - largest).exp()).sum::<f64>().ln()
}
