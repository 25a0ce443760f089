//! How probable each form is after the measurements, and the distribution of its coefficients.
//!
//! Relative errors are linear in the coefficients once the values are divided by those expected. Each coefficient is scaled to the largest
//! share of the expected value that its term takes; that share has a half-normal prior. So the evidence of a form is that of a linear model with a
//! Gaussian prior, times the probability that no coefficient is negative.

use super::candidates::{CandidateSet, CandidateSets, RealFamily};
use super::discrepancy;
use super::linear_system::{Gaussian, LinearSystem};
use super::noise_grid::NoiseGrid;
use super::setting_range::SettingRange;
use crate::scaling::cholesky::CholeskyFactor;
use std::ops::Range;
use std::rc::Rc;

/// The measurements as linear systems: without discrepancy for all terms, with each size of it for those that may matter.
pub(super) struct EvidenceProblem<'a> {
    pub candidates: CandidateSets,
    pub noise: &'a NoiseGrid,
    pub ranges: Vec<SettingRange>,
    settings: &'a [Vec<f64>],
    /// The value of each term at each setting.
    values: Vec<Vec<f64>>,
    /// The logarithm of the value that is expected at each setting.
    expected: Vec<f64>,
    systems: Vec<SystemPair>,
}

/// Values below this are zero.
const TINY: f64 = 1e-300;

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

impl<'a> EvidenceProblem<'a> {
    pub(super) fn new(settings: &'a [Vec<f64>], noise: &'a NoiseGrid, candidates: CandidateSets) -> Self {
        let values = candidates.terms.iter().map(|term| settings.iter().map(|x| term.value_at(x)).collect()).collect();
        let ranges = SettingRange::from_settings(settings);
        let mut problem = Self { candidates, noise, ranges, settings, values, expected: Vec::new(), systems: Vec::new() };
        problem.set_expected(noise.log_values.clone());
        problem
    }

    /// Linearises relative errors at these values, given by their logarithms.
    pub(super) fn set_expected(&mut self, expected: Vec<f64>) {
        self.expected = expected;
        let used = TermUse::from_sets(&self.candidates, self.candidates.sets.iter());
        self.systems = vec![self.system(0, &used)];
    }

    fn system(&self, discrepancy: usize, used: &TermUse) -> SystemPair {
        let (size, probability) = self.discrepancies()[discrepancy];
        let correlation = Rc::new(error_correlation(self.settings, &self.noise.relative_variances, size));
        [false, true].map(|is_reciprocal| {
            let mut system = LinearSystem::new(self.noise, &self.expected, &correlation, is_reciprocal, probability);
            let used = &used.terms[usize::from(is_reciprocal)];
            self.values.iter().zip(used).for_each(|(values, is_used)| if *is_used { system.push(values) } else { system.push_unused() });
            system
        })
    }

    /// The sizes of the discrepancy, with probabilities.
    pub(super) fn discrepancies(&self) -> &'static [(f64, f64)] {
        discrepancy::sizes(self.ranges.len())
    }

    /// Replaces a form of a family by a finer grid of exponents around its own.
    pub(super) fn subdivide(&mut self, set: usize, family: &RealFamily, per_step: i32) -> RealFamily {
        let first = self.candidates.terms.len();
        let finer = self.candidates.subdivide(set, family, per_step);
        for term in &self.candidates.terms[first..] {
            let values: Vec<f64> = self.settings.iter().map(|x| term.value_at(x)).collect();
            self.systems[0][0].push(&values);
            self.systems[0][1].push_unused();
            self.values.push(values);
        }
        finer
    }

    /// The scale of a term's coefficient: the coefficient is its share divided by this.
    pub(super) fn scale(&self, form: &WeighedForm, term: usize) -> f64 {
        self.systems[form.discrepancy][usize::from(self.candidates.sets[form.set].is_reciprocal)].scales[term]
    }

    /// The most that the logarithm of the evidence of a form can be at every few sizes of the noise, without discrepancy; minus infinity if that
    /// is below `least`.
    pub(super) fn coarse_log_bound(&self, set: usize, least: f64) -> f64 {
        let candidate = &self.candidates.sets[set];
        let Some(normal) = self.systems[0][usize::from(candidate.is_reciprocal)].normal_equations(candidate) else {
            return f64::NEG_INFINITY;
        };
        let bound = |bound: f64, deviation| match normal.gaussian(self.noise.deviations[deviation], bound.max(least)) {
            Some(gaussian) => bound.max(gaussian.log_bound()),
            None => bound,
        };
        COARSE_DEVIATIONS.into_iter().fold(f64::NEG_INFINITY, bound)
    }

    /// All forms at every few sizes of the noise, without discrepancy; those within this ratio of the best.
    pub(super) fn weigh_coarsely(&self, log_ratio: f64) -> Vec<WeighedForm> {
        let mut weighed = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for (set, candidate) in self.candidates.sets.iter().enumerate() {
            let Some(normal) = self.systems[0][usize::from(candidate.is_reciprocal)].normal_equations(candidate) else { continue };
            for deviation in COARSE_DEVIATIONS {
                let Some(gaussian) = normal.gaussian(self.noise.deviations[deviation], best - log_ratio) else { continue };
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
    pub(super) fn weigh(&mut self, forms: &[PromisingForm], log_ratio: f64) -> Vec<WeighedForm> {
        let likely = forms.iter().filter(|form| form.is_likely).map(|form| &self.candidates.sets[form.set]);
        let used = TermUse::from_sets(&self.candidates, likely);
        let further: Vec<SystemPair> = (1..self.discrepancies().len()).map(|discrepancy| self.system(discrepancy, &used)).collect();
        self.systems.extend(further);
        let mut weighed = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for (discrepancy, systems) in self.systems.iter().enumerate() {
            for form in forms.iter().filter(|form| discrepancy == 0 || form.is_likely) {
                let candidate = &self.candidates.sets[form.set];
                let Some(normal) = systems[usize::from(candidate.is_reciprocal)].normal_equations(candidate) else { continue };
                for deviation in form.deviations.clone() {
                    let Some(gaussian) = normal.gaussian(self.noise.deviations[deviation], best - log_ratio) else { continue };
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
    pub(super) fn expected_log_values(&self, weighed: &[WeighedForm]) -> Vec<f64> {
        let best = weighed.iter().map(|form| form.gaussian.log_bound()).fold(f64::NEG_INFINITY, f64::max);
        let mut sums = vec![0.0; self.settings.len()];
        let mut weights = 0.0;
        for form in weighed {
            let weight = (form.gaussian.log_bound() - best).exp();
            let set = &self.candidates.sets[form.set];
            let sign = if set.is_reciprocal { -1.0 } else { 1.0 };
            let coefficients = set.terms().zip(form.gaussian.mean).map(|(term, share)| (term, share.max(0.0) / self.scale(form, term)));
            let coefficients: Vec<(usize, f64)> = coefficients.collect();
            for (index, sum) in sums.iter_mut().enumerate() {
                let value: f64 = coefficients.iter().map(|(term, c)| c * self.values[*term][index]).sum();
                *sum += weight * sign * value.max(TINY).ln();
            }
            weights += weight;
        }
        sums.iter().map(|sum| sum / weights).collect()
    }
}

/// The terms that sums, and inverses of sums, consist of.
struct TermUse {
    terms: [Vec<bool>; 2],
}

impl TermUse {
    fn from_sets<'s>(candidates: &CandidateSets, sets: impl Iterator<Item = &'s CandidateSet>) -> Self {
        let mut terms = [false, true].map(|_| vec![false; candidates.terms.len()]);
        for set in sets {
            set.terms().for_each(|term| terms[usize::from(set.is_reciprocal)][term] = true);
        }
        Self { terms }
    }
}

/// One system for sums, one for inverses of sums.
type SystemPair = [LinearSystem; 2];

/// The correlation of errors, factorised: noise, and the discrepancy at neighbouring settings.
fn error_correlation(settings: &[Vec<f64>], relative_variances: &[f64], discrepancy: f64) -> CholeskyFactor {
    CholeskyFactor::new(settings.len(), |i, j| {
        let own = if i == j { relative_variances[i] } else { 0.0 };
        let doublings = settings[i].iter().zip(&settings[j]).map(|(x, other)| (x / other).log2());
        if discrepancy > 0.0 { own + discrepancy.powi(2) * discrepancy::correlation(doublings) } else { own }
    })
}
