//! The displayed formula where the search finds none that fits: that of the most probable form of the average, which may change within the
//! measured range, or be a sum that the search did not visit.

use super::averaging::{BasisTerm, SampledForm};
use super::ensemble_member::{EnsembleMember, TermFactor};
use super::model::{ErrorPercent, ExtrapolationModel, NoiseEstimate, ScalingModel};
use super::{fit_form, hold_out_error_percent};
use crate::measurements::Measurements;

/// A formula with a smaller mean error, in percent, stays.
const GOOD_ENOUGH_PERCENT: f64 = 2.0;
/// Another one takes its place if it leaves at most this share of the error.
const GAIN: f64 = 0.5;
/// Errors in proportion to the value, as in the average.
const RELATIVE_ERRORS: f64 = 1.0;

/// The model with the formula of the most probable form, if that fits much better and predicts the largest runs from the others no worse.
pub(super) fn better_fit(model: &ScalingModel, measurements: &Measurements) -> Option<ScalingModel> {
    if model.error_percent.in_sample < GOOD_ENOUGH_PERCENT {
        return None;
    }
    let average = model.average.as_ref()?;
    let form = average.forms.iter().find(|form| !form.is_reciprocal)?;
    if form.cut().is_some() && form.cut() != average.change_point() {
        return None;
    }
    let fitted = fit_terms_of(form, measurements)?;
    let fits_better = fitted.error_percent.in_sample <= GAIN * model.error_percent.in_sample;
    let validated = hold_out_error_percent(measurements, |kept| fit_terms_of(form, kept));
    let predicts_worse = match (validated, model.error_percent.validated) {
        (Some(new), Some(old)) => new > old,
        // A formula that was not tried on the largest runs does not replace one that was.
        (None, Some(_)) => true,
        (_, None) => false,
    };
    (fits_better && !predicts_worse).then(|| ScalingModel {
        noise: NoiseEstimate { outliers: model.noise.outliers, ..fitted.noise },
        error_percent: ErrorPercent { validated, ..fitted.error_percent },
        average: Some(average.clone()),
        disturbed: model.disturbed.clone(),
        ..fitted
    })
}

/// Fits the coefficients of a form, below and above the value where it changes.
fn fit_terms_of(form: &SampledForm, measurements: &Measurements) -> Option<ScalingModel> {
    let Some(cut) = form.cut() else { return fit_terms(&form.terms, measurements) };
    let [below, above] = [false, true].map(|is_above| {
        let counts = |term: &&BasisTerm| term.factors().iter().all(|factor| if is_above { factor.up_to } else { factor.above }.is_none());
        let terms: Vec<BasisTerm> = form.terms.iter().filter(counts).cloned().collect();
        fit_terms(&terms, &measurements.filtered(|point| (point.at[0] > cut) == is_above))
    });
    let (below, above) = (below?, above?);
    let [few, many] =
        [false, true].map(|is_above| measurements.points().iter().filter(|point| (point.at[0] > cut) == is_above).count() as f64);
    let mean = |of: fn(&ScalingModel) -> f64| (few * of(&below) + many * of(&above)) / (few + many);
    let error_percent = ErrorPercent { in_sample: mean(|model| model.error_percent.in_sample), validated: None };
    let percent = mean(|model| model.noise.percent);
    Some(ScalingModel {
        members: below.members.iter().map(|member| member.relative_to(&below.reference, &above.reference)).collect(),
        shown: below.shown.relative_to(&below.reference, &above.reference),
        noise: NoiseEstimate { percent, ..below.noise.clone() },
        error_percent,
        // Below the change the formula holds up to the last value that was measured there.
        beyond: Some(ExtrapolationModel { parameter: 0, above: below.reference[0], model: Box::new(above.clone()) }),
        reference: above.reference,
        ..below
    })
}

/// Fits a sum of these terms; `None` if it could only interpolate the points, or a coefficient is not positive.
fn fit_terms(terms: &[BasisTerm], measurements: &Measurements) -> Option<ScalingModel> {
    let mut products: Vec<Vec<TermFactor>> = Vec::new();
    for product in terms.iter().map(product) {
        if !products.contains(&product) {
            products.push(product);
        }
    }
    if measurements.points().len() <= products.len() {
        return None;
    }
    let fitted = fit_form(measurements, &products, RELATIVE_ERRORS).ok()?;
    fitted.shown.coefficients.iter().all(|coefficient| *coefficient > 0.0).then_some(fitted)
}

fn product(term: &BasisTerm) -> Vec<TermFactor> {
    let factors = term.factors().iter().enumerate().filter(|(_, factor)| !factor.is_constant());
    factors.map(|(parameter, factor)| TermFactor { parameter, exponent: factor.exponent, log: factor.log }).collect()
}

impl EnsembleMember {
    /// The same sum with coefficients that are shares at another setting.
    fn relative_to(&self, reference: &[f64], other: &[f64]) -> Self {
        let scales: Vec<f64> =
            self.terms.iter().map(|term| term.iter().map(|factor| factor.value_at(other, reference)).product()).collect();
        let size = scales.len();
        Self {
            coefficients: self.coefficients.iter().zip(&scales).map(|(coefficient, scale)| coefficient * scale).collect(),
            covariance: (0..size * size).map(|k| self.covariance[k] * scales[k / size] * scales[k % size]).collect(),
            ..self.clone()
        }
    }
}
