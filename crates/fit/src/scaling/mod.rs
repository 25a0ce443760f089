//! Scaling laws: how a measured quantity grows with the parameters of a run.
//!
//! A law is a sum of products of powers and logarithms, `c0 + c1 * n^(3/2) * log2(p) + ...`. Exponents are real numbers, found by least
//! squares; simple fractions are preferred when they explain the measurements as well. Since several laws usually explain the
//! same measurements, a [`Model`] keeps all of them, each with its weight, and predicts with all; the likeliest is shown. How it is done
//! and what was measured is told in `docs/fit-theory.md`.

mod correction;
mod design;
mod enough;
mod explain;
mod family;
mod judge;
mod many;
mod member;
mod model;
mod noise;
mod posterior;
mod prior;
mod refine;
mod search;
mod short;
mod shown;
mod solve;
#[cfg(test)]
mod tests;
mod validate;

use crate::measurements::Measurements;
use crate::sample::CONFIDENCE;
pub use correction::{Correction, Likeness};
use design::Design;
pub use enough::{NotEnough, Setting, next_value};
use explain::{Explained, Forms, Weighing};
pub use family::Log;
pub use many::fit_many;
pub use member::{Factor, Member};
pub use model::{Beyond, Drawn, ErrorPercent, Model, Noise, Unexplained};
use noise::Summarised;
use posterior::Possible;
pub use prior::Nature;
pub use shown::{ShownFactor, ShownTerm};
use validate::Settled;

/// The most parameters of a law.
pub const MOST_PARAMETERS: usize = 8;

/// How much less likely (as a logarithm) a formula with nice exponents may be than the likeliest one to be shown in its place.
const COSTS_NOTHING: f64 = 2.0;

/// The mean of the sizes of normal errors is this share of their standard deviation.
const MEAN_SIZE: f64 = 0.8;

/// Finds the scaling law of measurements.
pub fn fit(measurements: &Measurements) -> Result<Model, NotEnough> {
    enough::check(measurements)?;
    let design = Design::of(measurements);
    let summary = Summarised::of(measurements);
    let settled = validate::settle(&design, &summary);
    let changed = validate::changed_at(&design, &summary, &settled);
    let model = assemble(measurements, &design, &summary, settled);
    Ok(Model { beyond: changed.map(|first| beyond(measurements, first)), ..model })
}

/// The law of the points from one of the values of a single parameter on.
fn beyond(measurements: &Measurements, first: usize) -> Beyond {
    let measurements = measurements.from(0, measurements.values_of(0)[first]);
    let design = Design::of(&measurements);
    let summary = Summarised::of(&measurements);
    let settled = validate::settle(&design, &summary);
    // Where the growth has changed it may change again, so that what few points did not foresee of the next one counts in full.
    let ahead: Vec<f64> = settled.errors.iter().map(|(_, error)| error / MEAN_SIZE).collect();
    let model = assemble(&measurements, &design, &summary, settled);
    let steps = design.axes.iter().map(correction::step).collect();
    Beyond { parameter: 0, model: Box::new(Model { unexplained: Some(Unexplained { within: 0.0, ahead, steps }), ..model }) }
}

/// Fits a form that is known beforehand: the terms are given with their exponents, and coefficients may be negative.
///
/// `growth` says how errors grow with the value: 1 in proportion, 0 not at all (ordinary least squares).
pub fn fit_form(measurements: &Measurements, terms: &[Vec<Factor>], growth: f64) -> Result<Model, NotEnough> {
    enough::check_form(measurements, terms)?;
    let design = Design::of(measurements);
    let summary = Summarised::of(measurements);
    let explained = Explained::of_form(&design, &summary, growth, terms).ok_or(NotEnough::DependentTerms)?;
    Ok(assemble(measurements, &design, &summary, Settled { explained, errors: Vec::new(), pattern: None, likeness: None }))
}

fn assemble(measurements: &Measurements, design: &Design, summary: &Summarised, settled: Settled) -> Model {
    let unexplained = unexplained(design, &settled);
    let error = settled.error();
    let Settled { explained, likeness, .. } = settled;
    let errors = &explained.errors;
    let spread = explained.spread();
    let Forms { weighing: Weighing { growth, alike }, target, .. } = &explained.forms;
    // Weights are those of points that count as one together; the spread is that of each.
    let root_weight = target.root_weights[0] * alike.sqrt();
    let settings = || measurements.points().iter().map(|p| p.at.clone()).collect();
    Model {
        parameters: measurements.parameters().to_vec(),
        reference: design.axes.iter().map(|a| a.reference).collect(),
        smallest: design.axes.iter().map(|a| a.smallest).collect(),
        shown: shown(&explained).member.clone(),
        spread: spread / (root_weight * target.values[0].powf(*growth)),
        noise: Noise {
            percent: 100.0 * spread,
            growth: *growth,
            repetitions_percent: summary.repetitions.map(|r| 100.0 * r),
            outliers: summary.outliers,
        },
        error_percent: ErrorPercent { in_sample: 100.0 * mean_size(errors), validated: error.map(|e| 100.0 * e) },
        correction: likeness.map(|likeness| Correction::new(design, settings(), &validate::ratios(errors), likeness)),
        unexplained,
        confidence: CONFIDENCE,
        beyond: None,
        members: explained.possible.into_iter().map(|p| p.member).collect(),
    }
}

/// What is between formulas and measurements beside noise: the pattern of the errors, or errors at points held out that noise cannot explain.
fn unexplained(design: &Design, settled: &Settled) -> Option<Unexplained> {
    /// How many times the spread of the points, errors at points held out are more than noise.
    const SURPRISING: f64 = 2.0;
    let errors = &settled.explained.errors;
    let within = match (settled.pattern, &settled.likeness) {
        (None, _) => 0.0,
        (Some(_), None) => mean_size(errors),
        (Some(_), Some(likeness)) => correction::left_alone(design, &validate::ratios(errors), likeness),
    };
    let several = design.axes.len() > 1;
    let surprising = if settled.pattern.is_some() { 0.0 } else { SURPRISING * MEAN_SIZE * settled.explained.spread() };
    let mut ahead = vec![0.0; design.axes.len()];
    for &(axis, error) in settled.errors.iter().filter(|(_, error)| (several || settled.pattern.is_some()) && *error > surprising) {
        ahead[axis] = error / MEAN_SIZE;
    }
    let any = within > 0.0 || ahead.iter().any(|a| *a > 0.0);
    any.then(|| Unexplained { within: within / MEAN_SIZE, ahead, steps: design.axes.iter().map(correction::step).collect() })
}

fn mean_size(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64
}

/// The member to show: the likeliest, or the likeliest with nice exponents if that costs nothing.
fn shown(explained: &Explained) -> &Possible {
    let best = &explained.possible[0];
    let judge = &explained.forms.judge;
    let likelihood = |p: &Possible| judge.of_residual(p.residual, p.family.columns());
    let limit = likelihood(best) - COSTS_NOTHING;
    explained.possible.iter().find(|p| p.nice && likelihood(p) >= limit).unwrap_or(best)
}
