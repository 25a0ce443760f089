//! Predictions from a model: the time at any setting with its interval, and its contributions.
//!
//! Every formula stands for many that explain the measurements as well. A [`ModelSample`] draws one for each term of the model from its
//! posterior; the interval covers 95 % of the samples. Speed-ups compare two settings within each sample, so that common uncertainty
//! cancels. The seed is fixed, so results are reproducible.
//!
//! Formulas of parts err together: what slowed down a run slowed down all of its parts, and a cache or another form that the runs did not show
//! concerns many of them. If they were drawn independently, the errors of many parts would cancel, and the interval of their sum would be too narrow.
//!
//! Where the largest runs, predicted from the others, were outside of their interval, intervals of the time are wider by as much
//! ([`crate::compose`]); those of speed-ups, in which common errors cancel, are not.
//!
//! The formulas are those of a rank that always has a core, with its data where it was in the runs. What the host adds comes last: the time
//! that waiting for cores added to the runs, and a wider interval where the data leaves or enters a cache.

use sintonia_fit::SplitMix64;

pub use crate::fitted_term::EstimateRange;
use crate::fitted_term::{FittedTerm, TermSample};
use crate::host_effects::SchedulingTime;
use crate::model::{PerformanceModel, PredictionBasis};
use crate::run::RANKS_PARAMETER;
use crate::working_set::{CacheBoundaries, CacheCrossing};
use sintonia_insight::program_part::PartKind;

/// The number of samples.
const SAMPLE_COUNT: usize = 1000;
/// The share of samples that an interval covers.
const CONFIDENCE: f64 = 0.95;
/// Prior degrees of freedom of the noise: runs scatter by some percent, not by some hundred. Without it, four runs would say nothing.
const PRIOR_DOF: f64 = 3.0;
/// The correlation of the error of a formula with what all formulas have in common; that of two formulas is its square.
const CORRELATION: f64 = 0.8;
/// Samples of formulas are compared where every parameter is so many times its largest measured value.
const DISTANCE: f64 = 4.0;
/// The seed of the samples.
const SEED: u64 = 2003;

/// A model with posterior samples.
pub struct Predictor<'a> {
    model: &'a PerformanceModel,
    names: &'a [String],
    samples: Vec<ModelSample<'a>>,
    caches: Option<CacheBoundaries<'a>>,
}

struct ModelSample<'a> {
    parts: Vec<TermSample<'a>>,
    limits: Vec<TermSample<'a>>,
    whole: Option<TermSample<'a>>,
    /// The noise factor of a single run in this sample.
    run_noise: f64,
}

/// Draws samples of terms that err together.
struct TermSampler<'a> {
    names: &'a [String],
    /// What all terms have in common in a sample, as a standard normal variable.
    common: Vec<f64>,
    /// Where samples are compared.
    distant: Vec<f64>,
}

impl<'a> TermSampler<'a> {
    /// Samples of a term in an order that correlates the ranks of their values with what is common (Iman and Conover).
    fn samples(&self, term: &'a FittedTerm, random: &mut SplitMix64) -> Vec<TermSample<'a>> {
        let mut drawn: Vec<(f64, TermSample)> = (0..self.common.len())
            .map(|_| {
                let sample = term.sample(self.names, random);
                (sample.value_at(&self.distant, [1.0; 3]), sample)
            })
            .collect();
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
        let own = (1.0 - CORRELATION * CORRELATION).sqrt();
        let scores: Vec<f64> = self.common.iter().map(|common| CORRELATION * common + own * random.standard_normal()).collect();
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        let mut placed: Vec<(usize, TermSample)> = order.into_iter().zip(drawn.into_iter().map(|(_, sample)| sample)).collect();
        placed.sort_by_key(|(index, _)| *index);
        placed.into_iter().map(|(_, sample)| sample).collect()
    }
}

/// The contribution of a part or role.
#[derive(Clone, Debug, PartialEq)]
pub struct PartContribution<'a> {
    /// The name of the part or role.
    pub name: &'a str,
    /// The term.
    pub term: &'a FittedTerm,
    /// Seconds.
    pub seconds: EstimateRange,
    /// Whether it is a part of the sum, or a role.
    pub is_part: bool,
}

impl PerformanceModel {
    /// The point estimate at a setting; `None` where a formula has no value.
    pub fn point_estimate(&self, setting: &[f64]) -> Option<f64> {
        let names = self.parameter_names();
        let sum = |own: bool| -> Option<f64> {
            let factor = |term: &FittedTerm| if own { term.scale_factor(&names, setting)[1].recip() } else { 1.0 };
            self.parts.iter().map(|part| Some(part.term.point_estimate(&names, setting)? * factor(&part.term))).sum()
        };
        match (self.uses, &self.whole) {
            (PredictionBasis::Whole, Some(whole)) if self.is_on_other_machine() => {
                Some(whole.point_estimate(&names, setting)? * sum(false)? / sum(true)?)
            }
            (PredictionBasis::Whole, Some(whole)) => whole.point_estimate(&names, setting),
            _ => self.limits.iter().try_fold(sum(false)?, |most, limit| Some(most.max(limit.term.point_estimate(&names, setting)?))),
        }
    }
}

impl<'a> Predictor<'a> {
    /// Samples a model; `names` are those of its parameters.
    pub fn new(model: &'a PerformanceModel, names: &'a [String]) -> Predictor<'a> {
        let mut random = SplitMix64::new(SEED);
        let freedom = model.points.len().saturating_sub(3) as f64 + PRIOR_DOF;
        let sampler = TermSampler {
            names,
            common: (0..SAMPLE_COUNT).map(|_| random.standard_normal()).collect(),
            distant: model.parameters.iter().map(|parameter| DISTANCE * parameter.to).collect(),
        };
        let mut columns = |terms: &mut dyn Iterator<Item = &'a FittedTerm>| -> Vec<std::vec::IntoIter<TermSample<'a>>> {
            terms.map(|term| sampler.samples(term, &mut random).into_iter()).collect()
        };
        let mut parts = columns(&mut model.parts.iter().map(|part| &part.term));
        let mut limits = columns(&mut model.limits.iter().map(|limit| &limit.term));
        let mut whole = columns(&mut model.whole.iter());
        let samples = (0..SAMPLE_COUNT).map(|_| {
            let noise = model.noise_percent / 100.0 * random.standard_normal() / random.scaled_chi_squared(freedom).sqrt();
            ModelSample {
                parts: parts.iter_mut().flat_map(Iterator::next).collect(),
                limits: limits.iter_mut().flat_map(Iterator::next).collect(),
                whole: whole.iter_mut().find_map(Iterator::next),
                // Symmetric as a ratio: no run takes no time.
                run_noise: if noise < 0.0 { (1.0 - noise).recip() } else { 1.0 + noise },
            }
        });
        let samples = samples.collect();
        let ranks = names.iter().position(|name| name == RANKS_PARAMETER);
        let ranks = ranks.ok_or_else(|| model.fixed.get(RANKS_PARAMETER).copied().unwrap_or(1.0));
        let measured = || model.points.iter().map(|point| &point.at[..]).collect();
        let working_set = model.host_effects.working_set.as_ref();
        let caches = working_set.map(|working_set| CacheBoundaries::new(working_set, names, ranks, measured()));
        Predictor { model, names, samples, caches }
    }

    /// The predicted time of one run at a setting, with what the host adds.
    pub fn predict_seconds(&self, setting: &[f64]) -> Option<EstimateRange> {
        let [low, middle, high] = widen(self.predict_from_formulas(setting)?, self.model.interval_widening());
        let [least, usual, most] = self.model.host_effects.scheduling.map_or([1.0; 3], SchedulingTime::factors);
        let [below, above] = self.cache_factors(setting);
        Some([low * least * below, middle * usual, high * most * above])
    }

    /// The caches that are crossed between the runs and a setting.
    pub fn cache_crossings(&self, setting: &[f64]) -> Vec<CacheCrossing> {
        self.caches.as_ref().map_or_else(Vec::new, |caches| caches.crossings(setting))
    }

    /// The factors on both ends of an interval of the time at a setting, for the caches that are crossed: only computation depends on them.
    pub fn cache_factors(&self, setting: &[f64]) -> [f64; 2] {
        let crossings = self.cache_crossings(setting);
        if crossings.is_empty() {
            return [1.0; 2];
        }
        let product =
            |is_left| crossings.iter().filter(|crossing| crossing.is_left == is_left).map(|crossing| crossing.slowdown).product::<f64>();
        let share = self.computation_share(setting);
        [1.0 - share + share / product(false), 1.0 - share + share * product(true)]
    }

    /// The share of computation in the time at a setting; all of it where the model has no parts.
    fn computation_share(&self, setting: &[f64]) -> f64 {
        let seconds = |is_counted: fn(PartKind) -> bool| -> f64 {
            let parts = self.model.parts.iter().filter(|part| is_counted(part.kind));
            parts.filter_map(|part| part.term.point_estimate(self.names, setting)).sum()
        };
        let (all, computation) = (seconds(|_| true), seconds(|kind| kind == PartKind::Computation));
        if all > 0.0 && all.is_finite() { computation / all } else { 1.0 }
    }

    /// The time of one run according to the formulas.
    pub(crate) fn predict_from_formulas(&self, setting: &[f64]) -> Option<EstimateRange> {
        let whole = self.model.whole.as_ref().and_then(|whole| whole.curve.as_ref());
        if let (PredictionBasis::Whole, Some(curve), false) = (self.model.uses, whole, self.model.is_on_other_machine()) {
            return Some(curve.predict(setting).map(|value| value.max(0.0)));
        }
        let middle = self.model.point_estimate(setting)?;
        let samples = self.samples.iter().zip(self.sample_values(setting));
        Some(percentile_interval(middle, samples.map(|(sample, seconds)| sample.run_noise * seconds).collect()))
    }

    /// A function of the times at two settings, without run noise.
    pub fn compare_settings(&self, a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Option<EstimateRange> {
        let middle = of(self.model.point_estimate(a)?, self.model.point_estimate(b)?);
        let both = self.sample_values(a).into_iter().zip(self.sample_values(b));
        Some(percentile_interval(middle, both.map(|(a, b)| of(a, b)).collect()))
    }

    /// The contributions at a setting: parts, largest first, then roles.
    pub fn contributions(&self, setting: &[f64]) -> Vec<PartContribution<'a>> {
        let model = self.model;
        let parts = model.parts.iter().enumerate().filter_map(|(index, part)| {
            let seconds = self.term_interval(&part.term, setting, |sample| &sample.parts[index])?;
            Some(PartContribution { name: &part.name, term: &part.term, seconds, is_part: true })
        });
        let limits = model.limits.iter().enumerate().filter_map(|(index, limit)| {
            let seconds = self.term_interval(&limit.term, setting, |sample| &sample.limits[index])?;
            Some(PartContribution { name: &limit.role, term: &limit.term, seconds, is_part: false })
        });
        let mut all: Vec<PartContribution> = parts.chain(limits).collect();
        all.sort_by(|a, b| b.is_part.cmp(&a.is_part).then(b.seconds[1].total_cmp(&a.seconds[1])));
        all
    }

    fn term_interval<'w>(
        &'w self,
        term: &FittedTerm,
        setting: &[f64],
        of: impl Fn(&'w ModelSample<'a>) -> &'w TermSample<'a>,
    ) -> Option<EstimateRange> {
        if let (Some(curve), None) = (&term.curve, &term.scale) {
            return Some(curve.predict_mean(setting).map(|value| value.max(0.0)));
        }
        let factor = term.scale_factor(self.names, setting);
        let middle = term.point_estimate(self.names, setting)?;
        Some(percentile_interval(middle, self.samples.iter().map(|sample| of(sample).value_at(setting, factor)).collect()))
    }

    /// The time at a setting in each sample, without run noise.
    fn sample_values(&self, setting: &[f64]) -> Vec<f64> {
        let model = self.model;
        let parts: Vec<EstimateRange> = model.parts.iter().map(|part| part.term.scale_factor(self.names, setting)).collect();
        let limits: Vec<EstimateRange> = model.limits.iter().map(|limit| limit.term.scale_factor(self.names, setting)).collect();
        let in_world = |sample: &ModelSample| {
            let sum = |factors: &mut dyn Iterator<Item = EstimateRange>| {
                sample.parts.iter().zip(factors).map(|(part, factor)| part.value_at(setting, factor)).sum::<f64>()
            };
            match (model.uses, &sample.whole) {
                (PredictionBasis::Whole, Some(whole)) => {
                    let here = whole.value_at(setting, [1.0; 3]);
                    let exchanged = || sum(&mut parts.iter().copied()) / sum(&mut std::iter::repeat([1.0; 3]));
                    if model.is_on_other_machine() { here * exchanged() } else { here }
                }
                _ => {
                    let limits = sample.limits.iter().zip(&limits).map(|(limit, factor)| limit.value_at(setting, *factor));
                    limits.fold(sum(&mut parts.iter().copied()), f64::max)
                }
            }
        };
        self.samples.iter().map(in_world).collect()
    }
}

/// An interval that is wider by a factor on a logarithmic scale.
fn widen([low, middle, high]: EstimateRange, factor: f64) -> EstimateRange {
    let end = |end: f64| if factor > 1.0 && end > 0.0 && middle > 0.0 { middle * (end / middle).powf(factor) } else { end };
    [end(low), middle, end(high)]
}

/// The percentile interval of the values, extended to include `middle`.
fn percentile_interval(middle: f64, mut values: Vec<f64>) -> EstimateRange {
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let at = |share: f64| values.get(((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1))).copied();
    let (low, high) = (at(tail).unwrap_or(middle), at(1.0 - tail).unwrap_or(middle));
    [low.min(middle), middle, high.max(middle)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_widened_as_ratios() {
        assert_eq!(widen([1.0, 2.0, 8.0], 1.0), [1.0, 2.0, 8.0]);
        assert_eq!(widen([1.0, 2.0, 8.0], 2.0), [0.5, 2.0, 32.0]);
        assert_eq!(widen([0.0, 2.0, 2.0], 3.0), [0.0, 2.0, 2.0]);
    }
}
