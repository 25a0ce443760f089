//! How far the truth may lie from every formula: a smooth deviation that repetitions do not reduce and distance increases.

use super::setting_range::SettingRange;

/// The size of the deviation relative to the noise, with probabilities.
const SIZES_OF_ONE_PARAMETER: [(f64, f64); 3] = [(0.0, 0.9), (1.0, 0.05), (4.0, 0.05)];
/// Formulas of several parameters are rougher, and there are enough measurements to see it.
const SIZES_OF_SEVERAL_PARAMETERS: [(f64, f64); 5] = [(0.0, 0.8), (1.0, 0.08), (4.0, 0.06), (12.0, 0.04), (40.0, 0.02)];

/// The distance over which deviations resemble each other, in doublings of a parameter.
const LENGTH: f64 = 1.5;

/// The sizes of the deviation relative to the noise, with probabilities; the first one is zero.
pub(super) fn sizes(parameters: usize) -> &'static [(f64, f64)] {
    if parameters == 1 { &SIZES_OF_ONE_PARAMETER } else { &SIZES_OF_SEVERAL_PARAMETERS }
}

/// The correlation at a distance in doublings of each parameter (Matérn, 3/2): half of it of each parameter by itself, half of all together.
pub(super) fn correlation(doublings: impl ExactSizeIterator<Item = f64>) -> f64 {
    let parameters = doublings.len() as f64;
    let mut product = 1.0;
    let mut sum = 0.0;
    for distance in doublings {
        let h = 3f64.sqrt() * distance.abs() / LENGTH;
        let alike = (1.0 + h) * (-h).exp();
        product *= alike;
        sum += alike;
    }
    0.5 * (sum / parameters + product)
}

/// The standard deviation at a setting for deviations of size one, given what the measurements around it say of a deviation that is
/// `relative_size` times the noise.
pub(super) fn deviation_at(x: &[f64], ranges: &[SettingRange], relative_size: f64) -> f64 {
    let outside = || ranges.iter().zip(x).map(|(range, x)| range.doublings_outside(*x));
    let growth = 1.0 + outside().sum::<f64>() / LENGTH;
    let known = relative_size.powi(2) / (1.0 + relative_size.powi(2));
    growth * (1.0 - known * correlation(outside()).powi(2)).sqrt()
}
