//! Samples of the forms that explain the measurements, as many of each as it is probable.

use super::candidates::MAX_TERMS;
use super::evidence::{EvidenceProblem, WeighedForm};
use super::form_average::{FormAverage, FormSample, SAMPLES, SampledForm};
use super::noise_grid::log_sum;
use crate::scaling::quasi_random::{self, AdditiveSequence};
use crate::stats::{ln_normal_cdf, normal_quantile};
use std::collections::BTreeMap;

/// The forms that are sampled, each at one size of noise and discrepancy.
const MAX_FORMS: usize = 1500;
/// Draws of coefficients from which the samples are chosen; each form has at least one.
const DRAWS: f64 = 4.0 * SAMPLES as f64;

/// The dimensions of the sequence that the draws follow, and its shift from form to form.
const SEQUENCE_DIMENSIONS: usize = 3;
const SEQUENCE_SHIFTS: [f64; MAX_TERMS] = [0.618_034, 0.414_214, 0.732_051, 0.236_068];

/// A draw of the scaled coefficients of a form, with the logarithm of its weight.
struct Draw {
    form: usize,
    shares: [f64; MAX_TERMS],
    log_weight: f64,
}

/// Samples from all forms together; `None` if numbers are too extreme to weigh any.
pub(super) fn sample(problem: &EvidenceProblem, weighed: &[WeighedForm]) -> Option<FormAverage> {
    let forms = most_probable(weighed);
    let all = log_sum(forms.iter().map(|form| form.gaussian.log_bound()));
    let sequence = AdditiveSequence::new(SEQUENCE_DIMENSIONS);
    let steps: [f64; MAX_TERMS] = std::array::from_fn(|coordinate| sequence.step(coordinate));
    let mut draws = Vec::new();
    for (index, form) in forms.iter().enumerate() {
        let terms = problem.candidates.sets[form.set].terms().len();
        let count = (DRAWS * (form.gaussian.log_bound() - all).exp()).ceil() as usize;
        let share = (count as f64).ln();
        draws.extend((0..count).map(|draw| {
            let drawn = draw_positive(form, index, draw, terms, &steps);
            Draw { log_weight: drawn.log_weight - share, ..drawn }
        }));
    }
    let mut samples: BTreeMap<usize, Vec<FormSample>> = BTreeMap::new();
    for draw in resample(&draws) {
        let form = forms[draw.form];
        let set = &problem.candidates.sets[form.set];
        let noise = problem.noise.deviations[form.deviation];
        samples.entry(form.set).or_default().push(FormSample {
            coefficients: set.terms().zip(draw.shares).map(|(term, share)| rounded(share / problem.scale(form, term))).collect(),
            noise: rounded(noise.deviation),
            discrepancy: problem.discrepancies()[form.discrepancy].0,
            of_run: rounded(noise.of_run),
        });
    }
    let form = |(set, samples): (usize, Vec<FormSample>)| {
        let set = &problem.candidates.sets[set];
        let terms = set.terms().map(|term| problem.candidates.terms[term].clone()).collect();
        SampledForm { terms, is_reciprocal: set.is_reciprocal, samples }
    };
    let mut forms: Vec<SampledForm> = samples.into_iter().map(form).collect();
    forms.sort_by_key(|form| std::cmp::Reverse(form.samples.len()));
    (!forms.is_empty()).then_some(FormAverage { ranges: problem.ranges.clone(), forms })
}

/// A number with six digits: a model file holds hundreds of samples.
fn rounded(number: f64) -> f64 {
    const DIGITS: i32 = 6;
    if !(1e-280..1e280).contains(&number) {
        return number;
    }
    let power = DIGITS - 1 - number.log10().floor() as i32;
    let scale = 10f64.powi(power.abs());
    if power >= 0 { (number * scale).round() / scale } else { (number / scale).round() * scale }
}

fn most_probable(weighed: &[WeighedForm]) -> Vec<&WeighedForm> {
    let mut forms: Vec<&WeighedForm> = weighed.iter().collect();
    forms.sort_by(|a, b| b.gaussian.log_bound().total_cmp(&a.gaussian.log_bound()));
    forms.truncate(MAX_FORMS);
    // Forms with the same terms stay together, so that systematic resampling takes the right number of each.
    forms.sort_by_key(|form| form.set);
    forms
}

/// Draws coefficients that are not negative, one after the other, each given those before it (Geweke, Hajivassiliou and Keane).
fn draw_positive(form: &WeighedForm, index: usize, draw: usize, terms: usize, steps: &[f64; MAX_TERMS]) -> Draw {
    let gaussian = &form.gaussian;
    let mut shares = [0.0; MAX_TERMS];
    let mut log_weight = gaussian.log_evidence;
    for a in (0..terms).rev() {
        let root = gaussian.root[a][a];
        let known: f64 = (a + 1..terms).map(|k| gaussian.root[k][a] * (shares[k] - gaussian.mean[k])).sum();
        let mean = gaussian.mean[a] - known / root;
        let log_positive = ln_normal_cdf(mean * root);
        log_weight += log_positive;
        let uniform = quasi_random::inside((steps[a] * (draw + 1) as f64 + SEQUENCE_SHIFTS[a] * index as f64).fract());
        shares[a] = (mean - normal_quantile((uniform.ln() + log_positive).exp()) / root).max(0.0);
    }
    Draw { form: index, shares, log_weight }
}

/// Draws with equal weights (systematic resampling).
fn resample(draws: &[Draw]) -> impl Iterator<Item = &Draw> {
    let all = log_sum(draws.iter().map(|draw| draw.log_weight));
    let mut sum = 0.0;
    let mut taken = 0;
    draws.iter().flat_map(move |draw| {
        sum += (draw.log_weight - all).exp();
        let until = ((sum * SAMPLES as f64 + 0.5).floor() as usize).clamp(taken, SAMPLES);
        let count = until - taken;
        taken = until;
        std::iter::repeat_n(draw, count)
    })
}
