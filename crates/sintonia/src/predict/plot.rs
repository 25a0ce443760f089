//! Plots of a prediction.

use sintonia_model::forecast::Forecast;
use sintonia_model::sweep::ParameterSweep;
use sintonia_plot::Plot;

use crate::fit::plot;

/// More curves than this cannot be distinguished.
const MAX_CURVES: usize = 6;

/// The time along the requested values, with the measurements. A single setting is reached from the measured range; without parameters there is
/// nothing to plot.
pub(super) fn plot_forecast(forecast: &Forecast) -> Option<Plot> {
    let model = forecast.model;
    let from_measured = |line: &ParameterSweep| {
        let own = &model.parameters[line.parameter];
        ParameterSweep { from: own.from.min(line.from), to: own.to.max(line.to), ..line.clone() }
    };
    let lines: Vec<ParameterSweep> = forecast.sweeps.iter().map(|set| from_measured(&set.sweep)).collect();
    match &lines[..] {
        [] => sweep_to_setting(forecast).map(|line| plot::plot_sweep(model, forecast.predictor, &from_measured(&line))),
        [line] => Some(plot::plot_sweep(model, forecast.predictor, line)),
        several => plot::plot_sweeps(model, forecast.predictor, &several[..several.len().min(MAX_CURVES)]),
    }
}

/// A sweep over the parameter that is farthest outside the measured range.
fn sweep_to_setting(forecast: &Forecast) -> Option<ParameterSweep> {
    let base = forecast.rows.first()?.setting.clone();
    let far = |index: &usize| {
        let own = &forecast.model.parameters[*index];
        (base[*index] / own.to).max(own.from / base[*index])
    };
    let parameter = (0..base.len()).max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let value = base[parameter];
    Some(ParameterSweep { parameter, base, from: value, to: value })
}
