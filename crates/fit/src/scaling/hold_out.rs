//! The error of a way of fitting at the largest values, when these are held out.

use super::ScalingModel;
use crate::measurements::Measurements;
use crate::sample::mean;

/// The mean relative error in percent at the largest value of each parameter when it is held out; `None` if too few settings are left.
pub(crate) fn hold_out_error_percent(measurements: &Measurements, fit: impl Fn(&Measurements) -> Option<ScalingModel>) -> Option<f64> {
    let mut errors = Vec::new();
    for parameter in 0..measurements.parameters().len() {
        let largest = *measurements.distinct_values(parameter).last()?;
        let Some(model) = fit(&measurements.filtered(|point| point.at[parameter] < largest)) else { continue };
        let held_out = measurements.points().iter().filter(|point| point.at[parameter] == largest);
        errors.extend(held_out.map(|point| (model.predict_mean(&point.at)[1] / mean(&point.values) - 1.0).abs()));
    }
    (!errors.is_empty()).then(|| 100.0 * mean(&errors))
}
