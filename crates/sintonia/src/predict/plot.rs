//! A prediction drawn.

use sintonia_formats::plot::Plot;
use sintonia_model::forecast::Forecast;
use sintonia_model::model::Model;
use sintonia_model::predict::Predictor;

use crate::fit::plot;

/// The time along what was asked for, with what was measured beside it.
pub fn of(model: &Model, forecast: &Forecast) -> Plot {
    let names = model.names();
    let predictor = Predictor::new(model, &names);
    let line = forecast.sets.iter().rev().find_map(|set| set.line.as_ref());
    match line {
        Some(line) => {
            let own = &model.parameters[line.parameter];
            let measured = (own.from.min(line.from), own.to.max(line.to));
            plot::along(model, &predictor, line.parameter, &line.base, measured)
        }
        None => point(model, &predictor, forecast),
    }
}

/// The way from what was measured to the one setting that was asked for.
fn point(model: &Model, predictor: &Predictor, forecast: &Forecast) -> Plot {
    let setting = forecast.rows.first().map(|row| row.setting.clone()).unwrap_or_default();
    let far = |place: &usize| setting[*place] / model.parameters[*place].to;
    let place = (0..setting.len()).max_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0);
    let (own, value) = (&model.parameters[place], setting[place]);
    plot::along(model, predictor, place, &setting, (own.from.min(value), own.to.max(value)))
}
