//! Correction of systematic errors by kriging.
//!
//! A cache that overflows or a network that saturates makes the truth deviate from every formula. Such errors are correlated between
//! neighbouring settings: near the measurements the errors around a setting correct its prediction, just beyond them the trend of the last
//! errors does, and far away the formula stands alone.

use super::cholesky::CholeskyFactor;
use super::design::{ExperimentDesign, ParameterAxis};
use serde::{Deserialize, Serialize};

/// The correlation of relative errors at neighbouring settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorCorrelation {
    /// For each parameter, the correlation one step along its axis.
    pub along: Vec<f64>,
    /// For each parameter, whether errors continue their trend beyond its largest value.
    pub goes_on: Vec<bool>,
    /// The share of an error that neighbours do not have in common (the nugget).
    pub own: f64,
}

/// The correlation at a distance in steps, from that at one step.
fn decayed_correlation(like: f64, distance: f64) -> f64 {
    if distance < 1e-9 { 1.0 } else { like.powf(distance) }
}

/// A relative correction of a formula near the measured points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KrigingCorrection {
    /// The correlation of neighbouring errors.
    pub likeness: ErrorCorrelation,
    /// For each parameter, the logarithm of a typical step between measured values.
    pub steps: Vec<f64>,
    /// The measured points.
    pub points: Vec<Vec<f64>>,
    /// The kriging weight of each point's error.
    pub shares: Vec<f64>,
}

impl KrigingCorrection {
    /// The correction from the errors at the measured points, given as log ratios.
    pub fn new(design: &ExperimentDesign, points: Vec<Vec<f64>>, errors: &[f64], likeness: ErrorCorrelation) -> Self {
        let all: Vec<usize> = (0..points.len()).collect();
        let shares = KrigingSystem::new(design, &all, &likeness).solve_weights(errors);
        Self { likeness, steps: design.axes.iter().map(log_step).collect(), points, shares }
    }

    /// The factor that corrects a prediction.
    pub fn factor_at(&self, x: &[f64]) -> f64 {
        let positions: Vec<f64> = x.iter().zip(&self.steps).map(|(x, step)| x.ln() / step).collect();
        let known: Vec<Vec<f64>> =
            self.points.iter().map(|point| point.iter().zip(&self.steps).map(|(x, step)| x.ln() / step).collect()).collect();
        (-self.likeness.interpolated_error(&known, &self.shares, &positions)).exp()
    }
}

impl ErrorCorrelation {
    /// The error interpolated at a position; positions are logarithms in steps of each axis.
    fn interpolated_error(&self, known: &[Vec<f64>], shares: &[f64], position: &[f64]) -> f64 {
        let near = |position: &[f64]| {
            let alike = |known: &[f64]| {
                self.along.iter().zip(known).zip(position).map(|((like, k), p)| decayed_correlation(*like, (k - p).abs())).product::<f64>()
            };
            known.iter().zip(shares).map(|(known, share)| share * alike(known)).sum::<f64>()
        };
        let mut inside = position.to_vec();
        let mut ahead: Vec<(usize, f64)> = Vec::new();
        for axis in (0..position.len()).filter(|axis| self.goes_on[*axis]) {
            let last = known.iter().map(|k| k[axis]).fold(f64::NEG_INFINITY, f64::max);
            if position[axis] > last {
                inside[axis] = last;
                ahead.push((axis, position[axis] - last));
            }
        }
        let at_edge = near(&inside);
        let gone_on = |(axis, distance): &(usize, f64)| {
            let mut before = inside.clone();
            before[*axis] -= 1.0;
            (at_edge - near(&before)) * damped_steps(*distance)
        };
        at_edge + ahead.iter().map(gone_on).sum::<f64>()
    }
}

/// The number of steps, if each counts half of the one before.
fn damped_steps(distance: f64) -> f64 {
    2.0 * (1.0 - 0.5f64.powf(distance))
}

/// The errors interpolated at other points from known ones.
pub(super) fn interpolated_errors(
    design: &ExperimentDesign,
    errors: &[f64],
    known: &[usize],
    asked: &[usize],
    likeness: &ErrorCorrelation,
) -> Vec<f64> {
    let shares = KrigingSystem::new(design, known, likeness).solve_weights(errors);
    let position =
        |i: usize| design.axes.iter().map(|axis| axis.log_ratios[axis.level_index[i] as usize] / log_step(axis)).collect::<Vec<f64>>();
    let positions: Vec<Vec<f64>> = known.iter().map(|i| position(*i)).collect();
    asked.iter().map(|&i| likeness.interpolated_error(&positions, &shares, &position(i))).collect()
}

/// The correlation of errors at measured points; powers are computed once per pair of levels, not of points.
struct PairCorrelations<'a> {
    design: &'a ExperimentDesign,
    levels: Vec<Vec<f64>>,
}

impl<'a> PairCorrelations<'a> {
    fn new(design: &'a ExperimentDesign, likeness: &ErrorCorrelation) -> Self {
        let axis = |(axis, like): (&ParameterAxis, &f64)| {
            let (step, count) = (log_step(axis), axis.len());
            let distance = |k: usize| (axis.log_ratios[k / count] - axis.log_ratios[k % count]).abs() / step;
            (0..count * count).map(|k| decayed_correlation(*like, distance(k))).collect()
        };
        Self { design, levels: design.axes.iter().zip(&likeness.along).map(axis).collect() }
    }

    fn between_points(&self, i: usize, j: usize) -> f64 {
        let along =
            |(axis, levels): (&ParameterAxis, &Vec<f64>)| levels[axis.level_index[i] as usize * axis.len() + axis.level_index[j] as usize];
        self.design.axes.iter().zip(&self.levels).map(along).product()
    }
}

/// The mean absolute leave-one-out error after correction.
pub(super) fn leave_one_out_error(design: &ExperimentDesign, errors: &[f64], likeness: &ErrorCorrelation) -> f64 {
    let all: Vec<usize> = (0..design.n_points).collect();
    let kriging = KrigingSystem::new(design, &all, likeness);
    let shares = kriging.solve_weights(errors);
    all.iter().map(|i| (shares[*i] / kriging.factor.inverse_diagonal(*i)).abs()).sum::<f64>() / all.len() as f64
}

/// The kriging equations, factorised.
struct KrigingSystem<'k> {
    known: &'k [usize],
    factor: CholeskyFactor,
}

impl<'k> KrigingSystem<'k> {
    fn new(design: &ExperimentDesign, known: &'k [usize], likeness: &ErrorCorrelation) -> Self {
        /// Points that resemble each other leave at least this variance.
        const LEAST_VARIANCE: f64 = 1e-12;
        let between = PairCorrelations::new(design, likeness);
        let entry = |i: usize, j: usize| between.between_points(known[i], known[j]) + if i == j { likeness.own } else { 0.0 };
        Self { known, factor: CholeskyFactor::with_least_variance(known.len(), LEAST_VARIANCE, entry) }
    }

    /// The kriging weights of known errors.
    fn solve_weights(&self, errors: &[f64]) -> Vec<f64> {
        let known: Vec<f64> = self.known.iter().map(|&i| errors[i]).collect();
        self.factor.solve_upper(&self.factor.solve_lower(&known))
    }
}

/// The logarithm of a typical step of an axis.
pub(super) fn log_step(axis: &ParameterAxis) -> f64 {
    (-axis.log_ratios[0] / (axis.len() - 1).max(1) as f64).max(1e-12)
}
