//! How far the truth may lie from every formula: a smooth deviation that repetitions do not reduce and distance increases.

use super::setting_range::SettingRange;

/// The size of the deviation relative to the noise, with probabilities.
pub(super) const SIZES: [(f64, f64); 3] = [(0.0, 0.9), (1.0, 0.05), (4.0, 0.05)];

/// The distance over which deviations resemble each other, in doublings of the parameter.
const LENGTH: f64 = 1.5;

/// The correlation at a distance in doublings (Matérn, 3/2).
pub(super) fn correlation(doublings: f64) -> f64 {
    let h = 3f64.sqrt() * doublings.abs() / LENGTH;
    (1.0 + h) * (-h).exp()
}

/// The factor of the deviation outside the measured range.
pub(super) fn growth(doublings_outside: f64) -> f64 {
    1.0 + doublings_outside / LENGTH
}

/// The standard deviation at a setting for deviations of size one, given what the measurements around it say of a deviation that is
/// `relative_size` times the noise.
pub(super) fn deviation_at(x: f64, range: SettingRange, relative_size: f64) -> f64 {
    let outside = range.doublings_outside(x);
    let known = relative_size.powi(2) / (1.0 + relative_size.powi(2));
    growth(outside) * (1.0 - known * correlation(outside).powi(2)).sqrt()
}
