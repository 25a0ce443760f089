//! How probable each form is after the measurements, and the distribution of its coefficients.
//!
//! Relative errors are linear in the coefficients once the values are divided by those expected. Each coefficient is scaled to the largest
//! share of the expected value that its term takes; that share has a half-normal prior. So the evidence of a form is that of a linear model with a
//! Gaussian prior, times the probability that no coefficient is negative.

use super::basis::{CandidateSet, CandidateSets, MAX_TERMS};
use super::discrepancy;
use super::noise_grid::{NoiseDeviation, NoiseGrid};
use super::setting_range::SettingRange;
use crate::stats::ln_normal_cdf;
use std::ops::Range;

/// The scale of the prior of a term's largest share of the value.
const SHARE_SCALE: f64 = 0.7;

/// The measurements as linear systems, one for each size of the discrepancy, for sums and for inverses.
pub(super) struct EvidenceProblem<'a> {
    pub candidates: &'a CandidateSets,
    pub noise: &'a NoiseGrid,
    pub range: SettingRange,
    systems: Vec<[LinearSystem; 2]>,
}

/// The sizes of the noise that are tried first: every third one.
const COARSE_DEVIATIONS: [usize; 5] = [1, 4, 7, 10, 13];

/// Forms less probable than the best by more than this, as a logarithm, are not weighed with a discrepancy, which is improbable itself.
const LIKELY_LOG_RATIO: f64 = 7.0;

/// A form that may matter.
pub(super) struct PromisingForm {
    set: usize,
    /// The sizes of the noise, by index.
    deviations: Range<usize>,
    /// Whether it may matter with a discrepancy too.
    is_likely: bool,
}

/// A form at one size of noise and discrepancy, with the Gaussian distribution of its scaled coefficients.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeighedForm {
    pub set: usize,
    pub deviation: usize,
    pub discrepancy: usize,
    pub gaussian: Gaussian,
}

/// The distribution of coefficients before negative ones are excluded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gaussian {
    pub mean: [f64; MAX_TERMS],
    /// Lower Cholesky factor of the inverse covariance.
    pub root: [[f64; MAX_TERMS]; MAX_TERMS],
    /// The logarithm of the evidence without the probability that no coefficient is negative.
    pub log_evidence: f64,
    /// The most that the logarithm of that probability can be.
    pub log_positive: f64,
}

impl Gaussian {
    /// The most that the logarithm of the evidence can be.
    pub(super) fn log_bound(&self) -> f64 {
        self.log_evidence + self.log_positive
    }
}

impl<'a> EvidenceProblem<'a> {
    pub(super) fn new(settings: &[f64], noise: &'a NoiseGrid, candidates: &'a CandidateSets, expected: &[f64]) -> Self {
        let low = settings.iter().copied().fold(f64::INFINITY, f64::min);
        let high = settings.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let terms: Vec<Vec<f64>> = candidates.terms.iter().map(|term| settings.iter().map(|x| term.value_at(*x)).collect()).collect();
        let system = |(size, probability): (f64, f64)| {
            let correlation = CorrelationRoot::new(settings, &noise.relative_variances, size);
            [false, true].map(|is_reciprocal| LinearSystem::new(&terms, noise, expected, &correlation, is_reciprocal, probability))
        };
        Self { candidates, noise, range: SettingRange { low, high }, systems: discrepancy::SIZES.map(system).into() }
    }

    /// The scale of a term's coefficient: the coefficient is its share divided by this.
    pub(super) fn scale(&self, form: &WeighedForm, term: usize) -> f64 {
        self.systems[form.discrepancy][usize::from(self.candidates.sets[form.set].is_reciprocal)].scales[term]
    }

    /// The most that the logarithm of the evidence of a form can be at every few sizes of the noise, without discrepancy.
    pub(super) fn coarse_log_bound(&self, set: usize) -> f64 {
        let candidate = &self.candidates.sets[set];
        let Some(normal) = self.systems[0][usize::from(candidate.is_reciprocal)].normal_equations(candidate) else {
            return f64::NEG_INFINITY;
        };
        let bounds = COARSE_DEVIATIONS.map(|deviation| normal.gaussian(self.noise.deviations[deviation], f64::NEG_INFINITY).log_bound());
        bounds.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }

    /// All forms at every few sizes of the noise, without discrepancy; those within this ratio of the best.
    pub(super) fn weigh_coarsely(&self, log_ratio: f64) -> Vec<WeighedForm> {
        let mut weighed = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for (set, candidate) in self.candidates.sets.iter().enumerate() {
            let Some(normal) = self.systems[0][usize::from(candidate.is_reciprocal)].normal_equations(candidate) else { continue };
            for deviation in COARSE_DEVIATIONS {
                let gaussian = normal.gaussian(self.noise.deviations[deviation], best - log_ratio);
                best = best.max(gaussian.log_bound());
                if gaussian.log_bound() > best - log_ratio {
                    weighed.push(WeighedForm { set, deviation, discrepancy: 0, gaussian });
                }
            }
        }
        weighed.retain(|form| form.gaussian.log_bound() > best - log_ratio);
        weighed
    }

    /// The forms among those weighed coarsely that may matter, in the order of their sets.
    pub(super) fn promising(coarse: &[WeighedForm]) -> Vec<PromisingForm> {
        let best = coarse.iter().map(|form| form.gaussian.log_bound()).fold(f64::NEG_INFINITY, f64::max);
        let promising = |same: &[WeighedForm]| {
            let bound = same.iter().map(|form| form.gaussian.log_bound()).fold(f64::NEG_INFINITY, f64::max);
            let (first, last) = (same[0].deviation, same[same.len() - 1].deviation);
            PromisingForm { set: same[0].set, deviations: first - 1..last + 2, is_likely: bound > best - LIKELY_LOG_RATIO }
        };
        coarse.chunk_by(|a, b| a.set == b.set).map(promising).collect()
    }

    /// These forms at the sizes of noise and discrepancy that may matter, without those less probable than the best by more than this ratio.
    pub(super) fn weigh(&self, forms: &[PromisingForm], log_ratio: f64) -> Vec<WeighedForm> {
        let mut weighed = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for (discrepancy, systems) in self.systems.iter().enumerate() {
            for form in forms.iter().filter(|form| discrepancy == 0 || form.is_likely) {
                let candidate = &self.candidates.sets[form.set];
                let Some(normal) = systems[usize::from(candidate.is_reciprocal)].normal_equations(candidate) else { continue };
                for deviation in form.deviations.clone() {
                    let gaussian = normal.gaussian(self.noise.deviations[deviation], best - log_ratio);
                    best = best.max(gaussian.log_bound());
                    if gaussian.log_bound() > best - log_ratio {
                        weighed.push(WeighedForm { set: form.set, deviation, discrepancy, gaussian });
                    }
                }
            }
        }
        weighed.retain(|form| form.gaussian.log_bound() > best - log_ratio);
        weighed
    }

    /// The logarithm of the value that the forms together expect at each setting.
    pub(super) fn expected_log_values(&self, settings: &[f64], weighed: &[WeighedForm]) -> Vec<f64> {
        let best = weighed.iter().map(|form| form.gaussian.log_bound()).fold(f64::NEG_INFINITY, f64::max);
        let mut sums = vec![0.0; settings.len()];
        let mut weights = 0.0;
        for form in weighed {
            let weight = (form.gaussian.log_bound() - best).exp();
            let set = &self.candidates.sets[form.set];
            let sign = if set.is_reciprocal { -1.0 } else { 1.0 };
            let coefficients = set.terms().zip(form.gaussian.mean).map(|(term, share)| (term, share.max(0.0) / self.scale(form, term)));
            let coefficients: Vec<(usize, f64)> = coefficients.collect();
            for (sum, x) in sums.iter_mut().zip(settings) {
                let value: f64 = coefficients.iter().map(|(term, c)| c * self.candidates.terms[*term].value_at(*x)).sum();
                *sum += weight * sign * value.max(TINY).ln();
            }
            weights += weight;
        }
        sums.iter().map(|sum| sum / weights).collect()
    }
}

/// The Cholesky factor of the correlation of errors: noise, and the discrepancy at neighbouring settings.
struct CorrelationRoot {
    size: usize,
    root: Vec<f64>,
}

impl CorrelationRoot {
    fn new(settings: &[f64], relative_variances: &[f64], discrepancy: f64) -> Self {
        let size = settings.len();
        let mut root = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let shared = discrepancy.powi(2) * discrepancy::correlation((settings[i] / settings[j]).log2());
                let own = if i == j { relative_variances[i] } else { 0.0 };
                let rest = shared + own - (0..j).map(|k| root[i * size + k] * root[j * size + k]).sum::<f64>();
                root[i * size + j] = if i == j { rest.max(TINY).sqrt() } else { rest / root[j * size + j] };
            }
        }
        Self { size, root }
    }

    fn log_determinant_root(&self) -> f64 {
        (0..self.size).map(|i| self.root[i * self.size + i].ln()).sum()
    }

    /// Makes errors independent and of variance one, in place.
    fn whiten(&self, values: &mut [f64]) {
        for i in 0..self.size {
            let known: f64 = (0..i).map(|k| self.root[i * self.size + k] * values[k]).sum();
            values[i] = (values[i] - known) / self.root[i * self.size + i];
        }
    }
}

const TINY: f64 = 1e-300;

/// Relative errors as a linear function of the shares of all terms.
struct LinearSystem {
    log_probability: f64,
    settings: usize,
    /// The whitened columns of all terms, one after the other.
    columns: Vec<f64>,
    target: Vec<f64>,
    target_squares: f64,
    /// What the coefficients are multiplied by to give shares; infinite for terms that cannot be used.
    scales: Vec<f64>,
}

impl LinearSystem {
    fn new(
        terms: &[Vec<f64>],
        noise: &NoiseGrid,
        expected: &[f64],
        correlation: &CorrelationRoot,
        is_reciprocal: bool,
        probability: f64,
    ) -> Self {
        let sign = if is_reciprocal { -1.0 } else { 1.0 };
        let mut target: Vec<f64> = noise.log_values.iter().zip(expected).map(|(log, expected)| 1.0 + sign * (log - expected)).collect();
        correlation.whiten(&mut target);
        let weights: Vec<f64> = expected.iter().map(|log| (-sign * log).exp()).collect();
        let mut columns = Vec::with_capacity(terms.len() * target.len());
        let mut scales = Vec::with_capacity(terms.len());
        for term in terms {
            let mut column: Vec<f64> = term.iter().zip(&weights).map(|(value, weight)| value * weight).collect();
            let scale = column.iter().copied().fold(0.0, f64::max);
            let is_usable = scale > 0.0 && scale.is_finite();
            column.iter_mut().for_each(|value| *value /= scale);
            correlation.whiten(&mut column);
            columns.extend(column);
            scales.push(if is_usable { scale } else { f64::INFINITY });
        }
        Self {
            log_probability: probability.ln() - correlation.log_determinant_root(),
            settings: target.len(),
            columns,
            target_squares: target.iter().map(|value| value * value).sum(),
            target,
            scales,
        }
    }

    fn column(&self, term: usize) -> &[f64] {
        &self.columns[term * self.settings..(term + 1) * self.settings]
    }

    /// The normal equations of a form; `None` if one of its terms is zero at all settings.
    fn normal_equations(&self, set: &CandidateSet) -> Option<NormalEquations<'_>> {
        let mut normal = NormalEquations {
            system: self,
            log_prior: set.log_prior,
            terms: set.terms().len(),
            gram: [[0.0; MAX_TERMS]; MAX_TERMS],
            right: [0.0; MAX_TERMS],
        };
        for (i, term) in set.terms().enumerate() {
            if self.scales[term].is_infinite() {
                return None;
            }
            normal.right[i] = dot(self.column(term), &self.target);
            for (j, other) in set.terms().enumerate().take(i + 1) {
                normal.gram[i][j] = dot(self.column(term), self.column(other));
            }
        }
        Some(normal)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The normal equations of a form, for noise of size one.
struct NormalEquations<'a> {
    system: &'a LinearSystem,
    log_prior: f64,
    terms: usize,
    gram: [[f64; MAX_TERMS]; MAX_TERMS],
    right: [f64; MAX_TERMS],
}

impl NormalEquations<'_> {
    /// The posterior for noise of this size. The bound of its sign is not worked out if the evidence is below `least`.
    fn gaussian(&self, noise: NoiseDeviation, least: f64) -> Gaussian {
        let precision = noise.deviation.powi(-2);
        let mut root = [[0.0; MAX_TERMS]; MAX_TERMS];
        let mut solved = [0.0; MAX_TERMS];
        let mut log_diagonal = 0.0;
        for i in 0..self.terms {
            for j in 0..=i {
                let prior = if i == j { SHARE_SCALE.powi(-2) } else { 0.0 };
                let rest = self.gram[i][j] * precision + prior - (0..j).map(|k| root[i][k] * root[j][k]).sum::<f64>();
                root[i][j] = if i == j { rest.max(TINY).sqrt() } else { rest / root[j][j] };
            }
            let known: f64 = (0..i).map(|k| root[i][k] * solved[k]).sum();
            solved[i] = (self.right[i] * precision - known) / root[i][i];
            log_diagonal += root[i][i].ln();
        }
        let mut mean = [0.0; MAX_TERMS];
        for i in (0..self.terms).rev() {
            let known: f64 = (i + 1..self.terms).map(|k| root[k][i] * mean[k]).sum();
            mean[i] = (solved[i] - known) / root[i][i];
        }
        let explained: f64 = solved.iter().map(|value| value * value).sum();
        let log_evidence = self.log_prior + self.system.log_probability + noise.log_probability
            - self.system.settings as f64 * noise.deviation.ln()
            + 0.5 * (explained - self.system.target_squares * precision)
            - log_diagonal
            + self.terms as f64 * (2.0 / SHARE_SCALE).ln();
        let log_positive = if log_evidence > least { self.log_positive(&mean, &root) } else { 0.0 };
        Gaussian { mean, root, log_evidence, log_positive }
    }

    /// No coefficient is negative at most as often as the one of which that is least probable by itself.
    fn log_positive(&self, mean: &[f64; MAX_TERMS], root: &[[f64; MAX_TERMS]; MAX_TERMS]) -> f64 {
        let mut inverse = [[0.0; MAX_TERMS]; MAX_TERMS];
        for i in 0..self.terms {
            let known = |j: usize| (j..i).map(|k| root[i][k] * inverse[k][j]).sum::<f64>();
            inverse[i] = std::array::from_fn(|j| if j > i { 0.0 } else { (f64::from(u8::from(i == j)) - known(j)) / root[i][i] });
        }
        let distance = |j: usize| mean[j] / (j..self.terms).map(|i| inverse[i][j].powi(2)).sum::<f64>().sqrt();
        ln_normal_cdf((0..self.terms).map(distance).fold(f64::INFINITY, f64::min))
    }
}
