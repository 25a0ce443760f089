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
use explain::{Explained, Weighing};
pub use family::Log;
pub use member::{Factor, Member};
pub use model::{Drawn, ErrorPercent, Model, Noise};
use noise::Summarised;
use posterior::Possible;
pub use shown::{ShownFactor, ShownTerm};
use validate::Settled;

/// The most parameters of a law.
pub const MOST_PARAMETERS: usize = 8;

/// How much less likely (as a logarithm) a formula with nice exponents may be than the likeliest one to be shown in its place.
const COSTS_NOTHING: f64 = 2.0;

/// Finds the scaling law of measurements.
pub fn fit(measurements: &Measurements) -> Result<Model, NotEnough> {
    enough::check(measurements)?;
    let design = Design::of(measurements);
    let summary = Summarised::of(measurements);
    let settled = validate::settle(&design, &summary);
    Ok(assemble(measurements, &design, &summary, settled))
}

/// Fits a form that is known beforehand: the terms are given with their exponents, and coefficients may be negative.
///
/// `growth` says how errors grow with the value: 1 in proportion, 0 not at all (ordinary least squares).
pub fn fit_form(measurements: &Measurements, terms: &[Vec<Factor>], growth: f64) -> Result<Model, NotEnough> {
    enough::check_form(measurements, terms)?;
    let design = Design::of(measurements);
    let summary = Summarised::of(measurements);
    let explained = Explained::of_form(&design, &summary, growth, terms).ok_or(NotEnough::DependentTerms)?;
    Ok(assemble(measurements, &design, &summary, Settled { explained, error: None, pattern: false, likeness: None }))
}

fn assemble(measurements: &Measurements, design: &Design, summary: &Summarised, settled: Settled) -> Model {
    let Settled { explained, error, likeness, pattern } = settled;
    let errors = explained.relative_errors(design);
    let spread = explained.spread();
    let Weighing { growth, alike } = explained.weighing;
    // Weights are those of points that count as one together; the spread is that of each.
    let root_weight = explained.target.root_weights[0] * alike.sqrt();
    let settings = || measurements.points().iter().map(|p| p.at.clone()).collect();
    Model {
        parameters: measurements.parameters().to_vec(),
        reference: design.axes.iter().map(|a| a.reference).collect(),
        smallest: (0..design.axes.len()).map(|p| measurements.values_of(p)[0]).collect(),
        shown: shown(&explained).member.clone(),
        spread: spread / (root_weight * explained.target.values[0].powf(growth)),
        noise: Noise {
            percent: 100.0 * spread,
            growth,
            repetitions_percent: summary.repetitions.map(|r| 100.0 * r),
            outliers: summary.outliers,
        },
        error_percent: ErrorPercent { in_sample: 100.0 * mean_size(&errors), validated: error.map(|e| 100.0 * e) },
        correction: likeness.map(|likeness| Correction::new(design, settings(), &errors, likeness)),
        // The mean of the sizes of normal errors is 0.8 of their standard deviation.
        discrepancy: if pattern { mean_size(&errors).max(error.unwrap_or(0.0)) / 0.8 } else { 0.0 },
        confidence: CONFIDENCE,
        members: explained.possible.into_iter().map(|p| p.member).collect(),
    }
}

fn mean_size(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64
}

/// The member to show: the likeliest, or the likeliest with nice exponents if that costs nothing.
fn shown(explained: &Explained) -> &Possible {
    let best = &explained.possible[0];
    let judge = &explained.judge;
    let likelihood = |p: &Possible| judge.of_residual(p.residual, p.family.columns());
    let limit = likelihood(best) - COSTS_NOTHING;
    explained.possible.iter().find(|p| p.nice && likelihood(p) >= limit).unwrap_or(best)
}
