//! A fitted scaling model: weighted hypotheses, the one to display, and predictions from all of them.

use super::averaging::{FormAverage, FormSample, SampledForm};
use super::cholesky::CholeskyFactor;
use super::correction::KrigingCorrection;
use super::ensemble_member::{EnsembleMember, TermFactor};
use crate::measurements::DataPoint;
use crate::split_mix::SplitMix64;
use crate::stats::{fast_normal_cdf, normal_quantile, normal_to_student, student_to_normal};
use serde::{Deserialize, Serialize};

/// A formula with a smaller mean error, in percent, is good enough for what it says.
const MIN_MISFIT_PERCENT: f64 = 10.0;
/// A mean error of this many times the spread of repetitions is no scatter.
const MISFIT_SPREADS: f64 = 2.0;

/// The noise of the measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseEstimate {
    /// The spread of a point around the formula, in percent of its value at a typical point.
    pub percent: f64,
    /// The exponent of its growth with the value: 1 if proportional, 0 if constant.
    pub growth: f64,
    /// The spread of repetitions at one point in percent, if there are any.
    pub repetitions_percent: Option<f64>,
    /// The number of outliers among the repetitions; where there are any, the median of the repetitions counts.
    pub outliers: usize,
}

/// The error of the formula.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorPercent {
    /// The mean relative error at the fitted points.
    pub in_sample: f64,
    /// The mean relative error at the largest points when they are held out, if there are enough points.
    pub validated: Option<f64>,
}

/// A scaling model found in measurements: plain data that can be stored and sampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalingModel {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The largest measured value of each parameter; terms are relative to it.
    pub reference: Vec<f64>,
    /// The smallest measured value of each parameter.
    pub smallest: Vec<f64>,
    /// The ensemble of hypotheses, most probable first.
    pub members: Vec<EnsembleMember>,
    /// The hypothesis to display.
    pub shown: EnsembleMember,
    /// The noise of one point is `spread * value^growth`.
    pub spread: f64,
    /// The noise of the measurements.
    pub noise: NoiseEstimate,
    /// The error of the formula.
    pub error_percent: ErrorPercent,
    /// Corrects predictions near the measurements, where the errors of the formula have a pattern.
    pub correction: Option<KrigingCorrection>,
    /// The discrepancy between all hypotheses and the truth, if there is more than noise between them and the measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<ModelDiscrepancy>,
    /// The confidence level of the intervals.
    pub confidence: f64,
    /// The single runs that are left out, since something else had slowed them down: one value each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<DataPoint>,
    /// The model of large values of a parameter, if the growth changes within the measured range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<ExtrapolationModel>,
    /// All forms that explain the measurements, with up to three parameters: what intervals come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<FormAverage>,
}

/// The discrepancy between all hypotheses and the truth, as a relative standard deviation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelDiscrepancy {
    /// Within the measured range.
    pub within: f64,
    /// In addition, for each step outside the measured range of each parameter: found beyond its largest value, and below its smallest the same.
    pub ahead: Vec<f64>,
    /// The logarithm of a typical step between measured values of each parameter.
    pub steps: Vec<f64>,
}

impl ModelDiscrepancy {
    /// The standard deviation at a setting.
    fn std_dev_at(&self, x: &[f64], smallest: &[f64], largest: &[f64]) -> f64 {
        let steps = |k: usize| ((x[k] / largest[k]).max(smallest[k] / x[k]).ln() / self.steps[k]).max(0.0);
        (0..self.ahead.len()).map(|k| self.ahead[k] * steps(k)).fold(self.within, f64::hypot)
    }
}

/// The model of large values of a parameter, fitted to the largest values only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtrapolationModel {
    /// Index of the parameter.
    pub parameter: usize,
    /// The value above which it applies: the largest measured one, or where the growth changes.
    pub above: f64,
    /// The model.
    pub model: Box<ScalingModel>,
}

impl ScalingModel {
    /// The prediction interval of one further measurement (with as many repetitions as the others): low, middle, high.
    pub fn predict(&self, x: &[f64]) -> [f64; 3] {
        self.quantiles(x, true, self.confidence)
    }

    /// The confidence interval of the true value, without measurement noise: low, middle, high.
    pub fn predict_mean(&self, x: &[f64]) -> [f64; 3] {
        self.quantiles(x, false, self.confidence)
    }

    /// Low, middle and high at another confidence level, for one further measurement or for the true value.
    pub fn quantiles(&self, x: &[f64], measured: bool, confidence: f64) -> [f64; 3] {
        let own = self.ensemble_quantiles(x, measured, confidence);
        let Some(average) = &self.average else { return own };
        let tail = 0.5 * (1.0 - confidence);
        let [low, quarter, three_quarters, high] = average.quantiles(x, measured, [tail, 0.25, 0.75, 1.0 - tail]);
        // The formula that was found is the better guess, as far as the forms together do not contradict it. Numbers may be undefined here,
        // far outside the measured range.
        [low, own[1].max(quarter).min(three_quarters), high]
    }

    fn ensemble_quantiles(&self, x: &[f64], measured: bool, confidence: f64) -> [f64; 3] {
        if let Some(beyond) = self.extrapolation_model(x) {
            return beyond.ensemble_quantiles(x, measured, confidence);
        }
        let components: Vec<MixtureComponent> = self.members.iter().map(|m| self.mixture_component(m, x, measured)).collect();
        let tail = 0.5 * (1.0 - confidence);
        let (low, high) = (mixture_quantile(&components, tail), mixture_quantile(&components, 1.0 - tail));
        let factor = self.correction.as_ref().map_or(1.0, |c| c.factor_at(x));
        // Measurements are positive, which the mixture components do not know.
        [low, weighted_median(components).max(low).min(high), high].map(|value| (factor * value).max(0.0))
    }

    /// Whether the displayed formula does not fit: its error is large, and no scatter, because repetitions differ by much less, the errors have a
    /// pattern, or it contradicts the forms that explain the measurements, within the measured range.
    pub fn is_contradicted(&self) -> bool {
        let error = self.error_percent.in_sample;
        let exceeds_repetitions = || self.noise.repetitions_percent.is_some_and(|spread| error > MISFIT_SPREADS * spread);
        let has_pattern = || self.unexplained.as_ref().is_some_and(|unexplained| unexplained.within > 0.0);
        let is_outside = || self.average.as_ref().is_some_and(|average| self.is_outside(average));
        error > MIN_MISFIT_PERCENT && (exceeds_repetitions() || has_pattern() || is_outside())
    }

    /// Whether the displayed formula is outside of the interval of an average, somewhere in the measured range.
    fn is_outside(&self, average: &FormAverage) -> bool {
        /// The values of each parameter at which they are compared.
        const VALUES: i32 = 9;
        /// By how much the formula may be outside of the interval.
        const TOLERANCE: f64 = 1.1;
        let values = |(low, high): (&f64, &f64)| -> Vec<f64> {
            (0..VALUES).map(|step| low * (high / low).powf(f64::from(step) / f64::from(VALUES - 1))).collect()
        };
        let mut settings = vec![Vec::new()];
        for values in self.smallest.iter().zip(&self.reference).map(values) {
            settings =
                settings.iter().flat_map(|begin: &Vec<f64>| values.iter().map(|value| [begin.as_slice(), &[*value]].concat())).collect();
        }
        let is_outside = |x: &Vec<f64>| {
            let [low, high] = average.quantiles(x, false, [0.025, 0.975]);
            let model = self.model_at(x);
            let (shown, _) = model.shown.value_and_error_at(x, &model.reference);
            !(low / TOLERANCE..=high * TOLERANCE).contains(&shown)
        };
        settings.iter().any(is_outside)
    }

    /// Whether the displayed formula is so far from measurements without repetitions that it is unknown whether they scatter or follow another form.
    pub fn is_undecided(&self) -> bool {
        /// Runs seldom scatter by more, in percent.
        const USUAL_SCATTER_PERCENT: f64 = 25.0;
        self.noise.repetitions_percent.is_none() && self.error_percent.in_sample > USUAL_SCATTER_PERCENT
    }

    /// The forms that were tried, in words.
    pub fn tried_forms(&self) -> &'static str {
        match (&self.average, self.parameters.len()) {
            (Some(_), 1) => {
                "sums of up to three terms (powers with and without a logarithm), with a step or a switch to another term between any two \
                 of at least four values, and saturation"
            }
            (Some(_), _) => "sums of up to four products of powers and logarithms",
            (None, 1) => "sums of a constant and two terms (powers with and without a logarithm), and another one for the largest values",
            (None, _) => "sums of a constant and products of powers and logarithms",
        }
    }

    /// The model that applies at a setting: this one, or the extrapolation model.
    pub fn model_at(&self, x: &[f64]) -> &Self {
        self.extrapolation_model(x).unwrap_or(self)
    }

    /// The extrapolation model, if it applies at this setting.
    fn extrapolation_model(&self, x: &[f64]) -> Option<&Self> {
        self.beyond.as_ref().filter(|b| x[b.parameter] > b.above).map(|b| &*b.model)
    }

    fn discrepancy_at(&self, x: &[f64]) -> f64 {
        self.unexplained.as_ref().map_or(0.0, |u| u.std_dev_at(x, &self.smallest, &self.reference))
    }

    fn mixture_component(&self, member: &EnsembleMember, x: &[f64], measured: bool) -> MixtureComponent {
        let (middle, error) = member.value_and_error_at(x, &self.reference);
        let noise = if measured { self.spread * middle.abs().powf(self.noise.growth) } else { 0.0 };
        let spread = error.hypot(noise).hypot(self.discrepancy_at(x) * middle);
        MixtureComponent { weight: member.weight, location: middle, scale: spread, freedom: member.freedom }
    }

    /// Samples a curve from the posterior: a form, and coefficients for its terms.
    pub fn sample_curve(&self, random: &mut SplitMix64) -> PosteriorCurve<'_> {
        if let Some(average) = &self.average {
            let (form, sample) = average.sample_at(random.uniform());
            return PosteriorCurve {
                model: self,
                source: CurveSource::Averaged { average, form, sample },
                deviation: random.standard_normal(),
            };
        }
        let mut left = random.uniform();
        let chosen = self.members.iter().find(|m| {
            left -= m.weight;
            left <= 0.0
        });
        let member = chosen.unwrap_or(&self.members[0]);
        let stretch = random.scaled_chi_squared(member.freedom).sqrt().recip();
        let size = member.coefficients.len();
        let root = CholeskyFactor::new(size, |i, j| member.covariance[i * size + j]);
        let normals: Vec<f64> = (0..size).map(|_| stretch * random.standard_normal()).collect();
        let coefficients = member.coefficients.iter().zip(root.multiply(&normals)).map(|(middle, error)| middle + error).collect();
        let deviation = random.standard_normal();
        let beyond = self.beyond.as_ref().map(|b| Box::new(b.model.sample_curve(random)));
        PosteriorCurve { model: self, source: CurveSource::Member { member, coefficients, beyond }, deviation }
    }
}

/// A curve sampled from the posterior.
#[derive(Debug, Clone)]
pub struct PosteriorCurve<'a> {
    model: &'a ScalingModel,
    source: CurveSource<'a>,
    /// Its discrepancy from the formula, in standard deviations.
    deviation: f64,
}

/// Where a sampled curve comes from.
#[derive(Debug, Clone)]
enum CurveSource<'a> {
    Averaged { average: &'a FormAverage, form: &'a SampledForm, sample: &'a FormSample },
    Member { member: &'a EnsembleMember, coefficients: Vec<f64>, beyond: Option<Box<PosteriorCurve<'a>>> },
}

impl PosteriorCurve<'_> {
    /// Its value at a setting, which is never negative.
    pub fn value_at(&self, x: &[f64]) -> f64 {
        let (member, coefficients) = match &self.source {
            CurveSource::Averaged { average, form, sample } => return average.sample_value_at(form, sample, self.deviation, x),
            CurveSource::Member { beyond: Some(beyond), .. } if self.model.extrapolation_model(x).is_some() => return beyond.value_at(x),
            CurveSource::Member { member, coefficients, .. } => (member, coefficients),
        };
        let term = |t: &Vec<TermFactor>| t.iter().map(|f| f.value_at(x, &self.model.reference)).product::<f64>();
        let value: f64 = member.terms.iter().zip(coefficients).map(|(t, c)| c * term(t)).sum();
        let correction = self.model.correction.as_ref().map_or(1.0, |c| c.factor_at(x));
        (value * correction * (1.0 + self.deviation * self.model.discrepancy_at(x))).max(0.0)
    }
}

/// The predictive distribution of one member: Student's t.
struct MixtureComponent {
    weight: f64,
    location: f64,
    scale: f64,
    freedom: f64,
}

impl MixtureComponent {
    /// The cumulative distribution function.
    fn cdf(&self, value: f64) -> f64 {
        let distance = value - self.location;
        if self.scale > 0.0 {
            fast_normal_cdf(student_to_normal(distance / self.scale, self.freedom))
        } else {
            f64::from(u8::from(distance >= 0.0))
        }
    }
}

/// The quantile of a mixture.
fn mixture_quantile(components: &[MixtureComponent], p: f64) -> f64 {
    let z = normal_quantile(p);
    let own = |b: &MixtureComponent| b.location + b.scale * normal_to_student(z, b.freedom);
    let excess = |value: f64| components.iter().map(|b| b.weight * b.cdf(value)).sum::<f64>() - p;
    // The quantile of a mixture lies between those of its components.
    let low = components.iter().map(own).fold(f64::INFINITY, f64::min);
    let high = components.iter().map(own).fold(f64::NEG_INFINITY, f64::max);
    find_root(excess, low, high)
}

/// The weighted median of the members' values: that of the most probable member if it outweighs all others.
fn weighted_median(mut components: Vec<MixtureComponent>) -> f64 {
    components.sort_unstable_by(|a, b| a.location.total_cmp(&b.location));
    let mut below = 0.0;
    let half = components.iter().find(|b| {
        below += b.weight;
        below >= 0.5
    });
    half.or(components.last()).map_or(f64::NAN, |b| b.location)
}

/// The root of an increasing function in a bracket, within a relative tolerance of 1e-5.
///
/// Mixtures have plateaus where the secant step fails, so every second step bisects.
fn find_root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let (mut f_low, mut f_high) = (f(low), f(high));
    for step in 0..100 {
        if high - low <= 1e-5 * low.abs().max(high.abs()) {
            break;
        }
        let along = high - f_high * (high - low) / (f_high - f_low);
        let middle = if step % 2 == 0 && low < along && along < high { along } else { 0.5 * (low + high) };
        let f_middle = f(middle);
        if f_middle < 0.0 {
            (low, f_low) = (middle, f_middle);
        } else {
            (high, f_high) = (middle, f_middle);
        }
        if f_middle.abs() < 1e-6 {
            return middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_discrepancy_grows_with_the_distance_above_and_below() {
        let discrepancy = ModelDiscrepancy { within: 0.0, ahead: vec![0.1, 0.0], steps: vec![2f64.ln(); 2] };
        for (x, expected) in [(40.0, 0.0), (80.0, 0.0), (160.0, 0.1), (320.0, 0.2), (10.0, 0.0), (5.0, 0.1), (2.5, 0.2)] {
            let found = discrepancy.std_dev_at(&[x, 7.0], &[10.0, 1.0], &[80.0, 9.0]);
            assert!((found - expected).abs() < 1e-12, "{x}: {found}");
        }
    }
}
