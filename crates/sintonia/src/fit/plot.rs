//! A model drawn: what was measured, the curve, and the band it lies in.

use sintonia_fit::pieces::Break;
use sintonia_formats::plot::{Axis, GAP, Ink, Mark, Measured, Plot, Point, Scale, Series, Shape, Spread, Unit, residuals, sampled};
use sintonia_model::curve::Curve;
use sintonia_model::model::Model;
use sintonia_model::predict::Predictor;
use sintonia_model::run::RANKS;
use sintonia_model::sweep::Line;

use super::page::number;

/// How many places of a band are computed: between them it is straight.
const BAND: usize = 60;
/// Values that differ by this factor or more are spread by factors.
const WIDE: f64 = 8.0;

/// The time over the parameter that changed most, with the others as they were in the longest run; nothing if nothing changes.
pub fn of(model: &Model) -> Option<Plot> {
    let names = model.names();
    let ratio = |place: &usize| model.parameters[*place].to / model.parameters[*place].from;
    let parameter = (0..model.parameters.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(b.cmp(a)))?;
    let longest = model.points.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let base = longest.map_or_else(|| model.parameters.iter().map(|p| p.to).collect(), |point| point.at.clone());
    let own = &model.parameters[parameter];
    Some(along(model, &Predictor::new(model, &names), &Line { parameter, base, from: own.from, to: own.to }))
}

/// The time along a line through the settings of a model.
pub fn along(model: &Model, predictor: &Predictor, line: &Line) -> Plot {
    let value = |x: f64| model.value(&line.at(x)).unwrap_or(f64::NAN);
    let points = measured(model, line);
    let ends = ends(model);
    let mut series = Vec::new();
    series.extend(band(predictor, line, &ends).map(|band| Series::new("95 of 100 runs", Ink::Number(0), band)));
    series.push(Series::new("model", Ink::Number(0), Shape::Curve(curve(line, &ends, value))));
    let parameter = &model.parameters[line.parameter].name;
    if parameter == RANKS {
        let ideal = |p: f64| value(line.from) * line.from / p;
        series.push(Series::new("ideal", Ink::Reference, Shape::Curve(sampled(line.from, line.to, ideal))));
    }
    if !ends.is_empty() {
        let mark = |end: &&Break| Mark { at: end.at, between: Some((end.interval.low, end.interval.high)), name: number(end.at) };
        series.push(Series::new("ends of lines", Ink::Number(2), Shape::Marks(ends.iter().map(mark).collect())));
    }
    let mut below = Vec::new();
    if !points.is_empty() {
        let bars = if points.iter().any(|point| point.between.is_some()) { ", least to most" } else { "" };
        below.push(Series::new("measured", Ink::Number(1), Shape::Points(residuals(&points, value))));
        series.push(Series::new(format!("measured{bars}"), Ink::Number(1), Shape::Points(points)));
    }
    let others = others(model, line);
    let with = if others.is_empty() { String::new() } else { format!(" with {others}") };
    Plot { series, residuals: below, ..frame(model, line, &with) }
}

/// The time along several lines that differ in what does not change along them, each with its band and what was measured.
pub fn side_by_side(model: &Model, predictor: &Predictor, lines: &[Line]) -> Option<Plot> {
    let widest = Line {
        from: lines.iter().map(|line| line.from).fold(f64::INFINITY, f64::min),
        to: lines.iter().map(|line| line.to).fold(0.0, f64::max),
        ..lines.first()?.clone()
    };
    let ends = ends(model);
    let of_line = |(number, line): (usize, &Line)| {
        let (name, ink) = (others(model, line), Ink::Number(number));
        let value = |x: f64| model.value(&line.at(x)).unwrap_or(f64::NAN);
        let points = Some(measured(model, line)).filter(|points| !points.is_empty()).map(Shape::Points);
        let shapes = [band(predictor, line, &ends), Some(Shape::Curve(curve(line, &ends, value))), points];
        shapes.into_iter().flatten().map(move |shape| Series::new(name.clone(), ink, shape))
    };
    Some(Plot { series: lines.iter().enumerate().flat_map(of_line).collect(), ..frame(model, &widest, "") })
}

/// A plot of the time over what changes along a line, with nothing in it.
fn frame(model: &Model, line: &Line, with: &str) -> Plot {
    let parameter = &model.parameters[line.parameter].name;
    let unit = if model.quantity.unit == "s" { Unit::Seconds } else { Unit::Named(model.quantity.unit.clone()) };
    let (label, counts) = if parameter == RANKS { ("processes", Unit::Whole) } else { (parameter.as_str(), Unit::Number) };
    // Powers are straight lines where both axes go by factors.
    let scale = if line.to / line.from >= WIDE { Scale::Log } else { Scale::Linear };
    let of = if model.name == model.quantity.name { String::new() } else { format!("{}: ", model.name) };
    Plot {
        title: format!("{of}{} over {parameter}{with}", model.quantity.name),
        notes: Vec::new(),
        x: Axis { scale, ..Axis::new(label, counts) },
        y: Axis { scale, ..Axis::new(model.quantity.name.clone(), unit) },
        series: Vec::new(),
        residuals: Vec::new(),
    }
}

/// The values of what does not change along a line, in words.
pub fn others(model: &Model, line: &Line) -> String {
    let places = model.parameters.iter().zip(&line.base).enumerate().filter(|(place, _)| *place != line.parameter);
    places.map(|(_, (parameter, value))| format!("{} = {}", parameter.name, number(*value))).collect::<Vec<_>>().join(", ")
}

/// What was measured on a line: of repetitions the one in the middle, with a bar from the least to the most. On another machine, nothing
/// was.
pub fn measured(model: &Model, line: &Line) -> Vec<Measured> {
    let is_on = |setting: &[f64]| setting.iter().zip(&line.base).enumerate().all(|(place, (a, b))| place == line.parameter || a == b);
    let here = model.points.iter().filter(|point| !model.is_exchanged() && is_on(&point.at));
    let mut points: Vec<(f64, f64)> = here.map(|point| (point.at[line.parameter], point.value)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let group = |group: &[(f64, f64)]| {
        let (least, most) = (group[0].1, group[group.len() - 1].1);
        let middle = f64::midpoint(group[(group.len() - 1) / 2].1, group[group.len() / 2].1);
        Measured { x: group[0].0, y: middle, between: (least < most).then_some((least, most)) }
    };
    points.chunk_by(|a, b| a.0 == b.0).map(group).collect()
}

/// Where straight lines end, if the model is made of them.
fn ends(model: &Model) -> Vec<&Break> {
    match model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) {
        Some(Curve::Pieces(pieces)) => pieces.lines.breaks.iter().collect(),
        _ => Vec::new(),
    }
}

/// The stretches of a line within which nothing ends: each holds up to and including the place where it does.
fn stretches(line: &Line, ends: &[&Break]) -> Vec<(f64, f64)> {
    let inside = ends.iter().map(|end| end.at).filter(|at| line.from < *at && *at < line.to);
    let mut begin = line.from;
    let mut stretches: Vec<(f64, f64)> = inside.map(|at| (std::mem::replace(&mut begin, at * (1.0 + 1e-9)), at)).collect();
    stretches.push((begin, line.to));
    stretches
}

fn curve(line: &Line, ends: &[&Break], value: impl Fn(f64) -> f64) -> Vec<Point> {
    let pieces = stretches(line, ends).into_iter().map(|(from, to)| sampled(from, to, &value));
    pieces.collect::<Vec<_>>().join(&GAP)
}

/// What 95 of 100 runs take; nothing if that is known exactly.
fn band(predictor: &Predictor, line: &Line, ends: &[&Break]) -> Option<Shape> {
    let stretches = stretches(line, ends);
    let places = (BAND / stretches.len()).max(8);
    let spread = |x: f64| predictor.seconds(&line.at(x)).map(|[low, _, high]| Spread { x, low, high });
    let of = |(from, to): (f64, f64)| (0..places).map(move |i| from * (to / from).powf(i as f64 / (places - 1) as f64));
    let gap = Spread { x: f64::NAN, low: f64::NAN, high: f64::NAN };
    let pieces = stretches.into_iter().map(|stretch| of(stretch).filter_map(spread).collect::<Vec<_>>());
    let band = pieces.collect::<Vec<_>>().join(&gap);
    band.iter().any(|spread| spread.high > spread.low * (1.0 + 1e-9)).then_some(Shape::Band(band))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_model::table::Form;
    use std::path::Path;

    fn series(plot: &Plot, name: &str) -> Shape {
        plot.series.iter().find(|series| series.name.starts_with(name)).map(|series| series.shape.clone()).unwrap()
    }

    fn pieces() -> Model {
        let rows: String =
            (1..=16).map(|k| 4096 * k).map(|n| format!("{n},{}\n", if n <= 32768 { n + 500 } else { 2 * n + 900 })).collect();
        let columns = sintonia_fit::table::Columns { parameters: vec!["n".into()], value: "send".into(), unit: None };
        let table = sintonia_fit::table::read_csv("t.csv", &format!("n,send [us]\n{rows}"), &columns).unwrap();
        Model::of_series(&table, Form::Pieces).unwrap()
    }

    #[test]
    fn the_curve_is_interrupted_where_a_line_ends() {
        let Shape::Curve(curve) = series(&of(&pieces()).unwrap(), "model") else { panic!("a curve") };
        let gap = curve.iter().position(|point| point.0.is_nan()).unwrap();
        assert!(curve[gap - 1].0 == 32768.0 && (curve[gap - 1].1 / 33268e-6 - 1.0).abs() < 1e-6, "{:?}", curve[gap - 1]);
        assert!((curve[gap + 1].1 / 66436e-6 - 1.0).abs() < 1e-6, "{:?}", curve[gap + 1]);
    }

    #[test]
    fn repetitions_are_one_point_with_a_bar_from_the_least_to_the_most() {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n/p\"\n[[parameter]]\nname = \"n\"\nfrom = 1\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 4\n\
                    [measured]\npoints = [[100, 2, 52], [100, 2, 48], [100, 2, 49], [100, 4, 25], [50, 2, 25]]\n";
        let model = Model::parse(text, Path::new("m")).unwrap();
        let line = Line { parameter: 1, base: vec![100.0, 1.0], from: 1.0, to: 4.0 };
        let names = model.names();
        let plot = along(&model, &Predictor::new(&model, &names), &line);
        let expected = [Measured { x: 2.0, y: 49.0, between: Some((48.0, 52.0)) }, Measured { x: 4.0, y: 25.0, between: None }];
        assert_eq!(series(&plot, "measured, least to most"), Shape::Points(expected.into()));
        assert_eq!(plot.residuals.len(), 1);
        assert_eq!(plot.title, "lu: time over p with n = 100");
        let Shape::Curve(ideal) = series(&plot, "ideal") else { panic!("a curve") };
        assert_eq!(ideal.last(), Some(&(4.0, 25.0)));
    }

    #[test]
    fn a_model_in_which_nothing_changes_has_no_plot() {
        let model = Model::parse("format = 1\n[model]\nname = \"x\"\nformula = \"3\"\n", Path::new("m")).unwrap();
        assert_eq!(of(&model), None);
    }
}
