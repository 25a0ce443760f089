//! The average over forms: samples of their coefficients, and what they predict.

use super::basis_term::BasisTerm;
use super::discrepancy;
use super::setting_range::SettingRange;
use crate::scaling::quasi_random::AdditiveSequence;
use crate::stats::{normal_quantile, normal_to_student};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The number of samples of all forms together.
pub(super) const SAMPLES: usize = 600;
/// Degrees of freedom of a further run: now and then one is far off.
const RUN_FREEDOM: f64 = 4.0;
/// Errors that are tried with each sample.
const ERRORS_PER_SAMPLE: usize = 4;
/// The share of the samples that must agree on a change of the growth.
const MOST: f64 = 0.8;
/// Values below this are zero, and values above its inverse are infinite.
const TINY: f64 = 1e-300;

/// Coefficients of one form, sampled from the posterior. In files, an array: the noise, the discrepancy, the error of a run, the coefficients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<f64>", try_from = "Vec<f64>")]
pub struct FormSample {
    /// The coefficient of each term.
    pub coefficients: Vec<f64>,
    /// The standard deviation of the noise of a measured value, relative.
    pub noise: f64,
    /// The size of the deviation of the truth from the formula, relative to the noise.
    pub discrepancy: f64,
    /// The scale of the error of a further run, relative.
    pub of_run: f64,
}

impl From<FormSample> for Vec<f64> {
    fn from(sample: FormSample) -> Self {
        let FormSample { coefficients, noise, discrepancy, of_run } = sample;
        [noise, discrepancy, of_run].into_iter().chain(coefficients).collect()
    }
}

impl TryFrom<Vec<f64>> for FormSample {
    type Error = &'static str;

    fn try_from(numbers: Vec<f64>) -> Result<Self, Self::Error> {
        match numbers.as_slice() {
            [noise, discrepancy, of_run, coefficients @ ..] => {
                Ok(Self { coefficients: coefficients.to_vec(), noise: *noise, discrepancy: *discrepancy, of_run: *of_run })
            }
            _ => Err("a sample has at least three numbers"),
        }
    }
}

/// A form with samples of its coefficients; their number is in proportion to its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledForm {
    /// The terms of the sum.
    pub terms: Vec<BasisTerm>,
    /// Whether the sum is the inverse of the quantity.
    pub is_reciprocal: bool,
    /// The samples.
    pub samples: Vec<FormSample>,
}

impl SampledForm {
    /// The value of the single parameter at which the growth changes.
    pub(in crate::scaling) fn cut(&self) -> Option<f64> {
        self.terms.iter().flat_map(BasisTerm::factors).find_map(|factor| factor.above.or(factor.up_to))
    }

    /// The logarithm of the value of a sample at a setting.
    fn log_value_at(&self, sample: &FormSample, x: &[f64]) -> f64 {
        let sum: f64 = self.terms.iter().zip(&sample.coefficients).map(|(term, c)| c * term.value_at(x)).sum();
        let log = sum.clamp(TINY, 1.0 / TINY).ln();
        if self.is_reciprocal { -log } else { log }
    }
}

/// All forms that explain the measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormAverage {
    /// The measured range of each parameter.
    pub ranges: Vec<SettingRange>,
    /// The forms that have samples.
    pub forms: Vec<SampledForm>,
}

impl FormAverage {
    fn samples(&self) -> impl Iterator<Item = (&SampledForm, &FormSample)> {
        self.forms.iter().flat_map(|form| form.samples.iter().map(move |sample| (form, sample)))
    }

    /// The quantiles at a setting, of one further measurement or of the true value.
    pub fn quantiles<const N: usize>(&self, x: &[f64], measured: bool, probabilities: [f64; N]) -> [f64; N] {
        let mut logs = Vec::with_capacity(ERRORS_PER_SAMPLE * self.forms.iter().map(|form| form.samples.len()).sum::<usize>());
        for ((form, sample), errors) in self.samples().zip(standard_errors().chunks_exact(ERRORS_PER_SAMPLE).cycle()) {
            let value = form.log_value_at(sample, x);
            let deviation = self.deviation_at(sample, x);
            let of_run = if measured { sample.of_run } else { 0.0 };
            logs.extend(errors.iter().map(|[smooth, run]| value + deviation * smooth + of_run * run));
        }
        logs.sort_unstable_by(f64::total_cmp);
        probabilities.map(|p| interpolated_quantile(&logs, p).exp())
    }

    /// The value of the single parameter at which the growth changes, if most samples say so.
    pub fn change_point(&self) -> Option<f64> {
        let mut changing: Vec<(f64, usize)> = self.forms.iter().filter_map(|form| Some((form.cut()?, form.samples.len()))).collect();
        changing.sort_by(|a, b| a.0.total_cmp(&b.0));
        let same = changing.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|(_, count)| count).sum::<usize>()));
        let (cut, count) = same.max_by_key(|(_, count)| *count)?;
        (count as f64 >= MOST * self.samples().count() as f64).then_some(cut)
    }

    /// Whether the measurements deviate smoothly from every formula, by much more than noise.
    pub(in crate::scaling) fn is_rough(&self) -> bool {
        /// The size of such a deviation, relative to the noise.
        const ROUGH: f64 = 4.0;
        let rough = self.samples().filter(|(_, sample)| sample.discrepancy >= ROUGH).count();
        2 * rough > self.samples().count()
    }

    /// The sample at this share of all.
    pub(in crate::scaling) fn sample_at(&self, share: f64) -> (&SampledForm, &FormSample) {
        let count: usize = self.forms.iter().map(|form| form.samples.len()).sum();
        let index = ((share * count as f64) as usize).min(count - 1);
        self.samples().nth(index).unwrap_or_else(|| unreachable!("an average has samples"))
    }

    /// The value of a sample at a setting, with its deviation from the formula in standard deviations.
    pub(in crate::scaling) fn sample_value_at(&self, form: &SampledForm, sample: &FormSample, deviation: f64, x: &[f64]) -> f64 {
        (form.log_value_at(sample, x) + self.deviation_at(sample, x) * deviation).exp()
    }

    /// Whether an average read from a file can be used.
    pub fn is_valid(&self, parameters: usize) -> bool {
        let is_form_valid = |form: &SampledForm| {
            let is_sample_valid = |sample: &FormSample| {
                let numbers = [sample.noise, sample.discrepancy, sample.of_run].into_iter().chain(sample.coefficients.iter().copied());
                sample.coefficients.len() == form.terms.len() && numbers.into_iter().all(|number| number >= 0.0 && number.is_finite())
            };
            !form.samples.is_empty() && form.terms.iter().all(|term| term.is_valid(parameters)) && form.samples.iter().all(is_sample_valid)
        };
        let are_ranges_valid = self.ranges.len() == parameters && self.ranges.iter().all(|range| range.is_valid());
        are_ranges_valid && !self.forms.is_empty() && self.forms.iter().all(is_form_valid)
    }

    fn deviation_at(&self, sample: &FormSample, x: &[f64]) -> f64 {
        match sample.discrepancy {
            0.0 => 0.0,
            size => sample.noise * size * discrepancy::deviation_at(x, &self.ranges, size),
        }
    }
}

/// Errors of size one, which fill the plane evenly: of the deviation from the formula, and of a further run.
fn standard_errors() -> &'static [[f64; 2]] {
    static ERRORS: OnceLock<Vec<[f64; 2]>> = OnceLock::new();
    ERRORS.get_or_init(|| {
        let sequence = AdditiveSequence::new(2);
        let normals = |point: usize| [0, 1].map(|coordinate| normal_quantile(sequence.coordinate(point, coordinate)));
        (1..=SAMPLES * ERRORS_PER_SAMPLE).map(normals).map(|[smooth, run]| [smooth, normal_to_student(run, RUN_FREEDOM)]).collect()
    })
}

fn interpolated_quantile(sorted: &[f64], p: f64) -> f64 {
    let place = (p * sorted.len() as f64 - 0.5).clamp(0.0, (sorted.len() - 1) as f64);
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}
