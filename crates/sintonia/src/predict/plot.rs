//! A prediction drawn.

use sintonia_formats::plot::Plot;
use sintonia_model::forecast::Forecast;
use sintonia_model::sweep::Line;

use crate::fit::plot;

/// More curves than this cannot be told apart.
const CURVES: usize = 6;

/// The time along what was asked for, with what was measured beside it. One setting alone is reached from what was measured; without
/// parameters there is nothing to draw.
pub fn of(forecast: &Forecast) -> Option<Plot> {
    let model = forecast.model;
    let from_measured = |line: &Line| {
        let own = &model.parameters[line.parameter];
        Line { from: own.from.min(line.from), to: own.to.max(line.to), ..line.clone() }
    };
    let lines: Vec<Line> = forecast.sets.iter().map(|set| from_measured(&set.line)).collect();
    match &lines[..] {
        [] => to_one_setting(forecast).map(|line| plot::along(model, forecast.predictor, &from_measured(&line))),
        [line] => Some(plot::along(model, forecast.predictor, line)),
        several => plot::side_by_side(model, forecast.predictor, &several[..several.len().min(CURVES)]),
    }
}

/// Along the parameter that is farthest from what was measured.
fn to_one_setting(forecast: &Forecast) -> Option<Line> {
    let base = forecast.rows.first()?.setting.clone();
    let far = |place: &usize| {
        let own = &forecast.model.parameters[*place];
        (base[*place] / own.to).max(own.from / base[*place])
    };
    let parameter = (0..base.len()).max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let value = base[parameter];
    Some(Line { parameter, base, from: value, to: value })
}
