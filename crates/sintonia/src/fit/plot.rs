//! A model drawn: what was measured, the curve, and the band it lies in.

use sintonia_fit::pieces::Break;
use sintonia_formats::plot::{Axis, Ink, Letters, Mark, Measured, Plot, Series, Shape, Spread, Unit, residuals, sampled};
use sintonia_model::curve::Curve;
use sintonia_model::model::Model;
use sintonia_model::predict::Predictor;

/// How many places of a band are computed: between them it is straight.
const BAND: usize = 60;

/// The time over the parameter that changed most, with the others as they were in the longest run.
pub fn of(model: &Model) -> Plot {
    let names = model.names();
    let predictor = Predictor::new(model, &names);
    let place = widest(model);
    let longest = model.points.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let base: Vec<f64> = longest.map_or_else(|| model.parameters.iter().map(|p| p.to).collect(), |point| point.at.clone());
    let (low, high) = (model.parameters[place].from, model.parameters[place].to);
    along(model, &predictor, place, &base, (low, high))
}

/// The time over one parameter between two values, with the others as given.
pub fn along(model: &Model, predictor: &Predictor, place: usize, base: &[f64], (low, high): (f64, f64)) -> Plot {
    let at = |x: f64| base.iter().enumerate().map(|(other, value)| if other == place { x } else { *value }).collect::<Vec<f64>>();
    let same = |setting: &[f64]| setting.iter().zip(base).enumerate().all(|(other, (a, b))| other == place || a == b);
    let points: Vec<Measured> = model
        .points
        .iter()
        .filter(|point| same(&point.at) && !model.is_exchanged())
        .map(|point| Measured { x: point.at[place], y: point.value, between: None })
        .collect();
    let value = |x: f64| model.value(&at(x)).unwrap_or(f64::NAN);
    let step = |i: usize| low * (high / low).powf(i as f64 / (BAND - 1) as f64);
    let spread = |x: f64| predictor.seconds(&at(x)).map(|[low, _, high]| Spread { x, low, high });
    let band: Vec<Spread> = (0..BAND).filter_map(|i| spread(step(i))).collect();
    let parameter = &model.parameters[place].name;
    let others: Vec<String> = model
        .parameters
        .iter()
        .zip(base)
        .enumerate()
        .filter(|(other, _)| *other != place)
        .map(|(_, (p, v))| format!("{} = {v}", p.name))
        .collect();
    let with = if others.is_empty() { String::new() } else { format!(" with {}", others.join(", ")) };
    let mut series = vec![
        Series::new("95 of 100 runs", Ink::Number(0), Shape::Band(band)),
        Series::new("formula", Ink::Number(0), Shape::Curve(sampled(low, high, value))),
    ];
    if let Some(Curve::Pieces(pieces)) = model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) {
        let mark = |end: &Break| Mark { at: end.at, between: Some((end.interval.low, end.interval.high)), name: format!("{}", end.at) };
        series.push(Series::new("ends of lines", Ink::Number(2), Shape::Marks(pieces.lines.breaks.iter().map(mark).collect())));
    }
    let mut below = Vec::new();
    if !points.is_empty() {
        below.push(Series::new("measured", Ink::Number(1), Shape::Points(residuals(&points, value))));
        series.push(Series::new("measured", Ink::Number(1), Shape::Points(points)));
    }
    let unit = if model.quantity.unit == "s" { Unit::Seconds } else { Unit::Named(model.quantity.unit.clone()) };
    let counts = if parameter == "p" { Unit::Whole } else { Unit::Number };
    Plot {
        title: format!("{}: {} over {parameter}{with}", model.name, model.quantity.name),
        notes: Vec::new(),
        x: Axis::new(if parameter == "p" { "processes" } else { parameter.as_str() }, counts),
        y: Axis::new(model.quantity.name.clone(), unit),
        series,
        residuals: below,
    }
}

/// The parameter that changed most.
fn widest(model: &Model) -> usize {
    let ratio = |place: &usize| model.parameters[*place].to / model.parameters[*place].from;
    (0..model.parameters.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(b.cmp(a))).unwrap_or(0)
}

/// What the terminal can show, by the language it is set to.
pub fn letters() -> Letters {
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let is_unicode = language.is_some_and(|language| language.to_ascii_lowercase().replace('-', "").contains("utf8"));
    if is_unicode { Letters::Braille } else { Letters::Ascii }
}
