//! Plots of a model: measurements, curve and prediction band.

use sintonia_fit::piecewise::Breakpoint;
use sintonia_model::curve::FittedCurve;
use sintonia_model::model::PerformanceModel;
use sintonia_model::predict::Predictor;
use sintonia_model::run::RANKS_PARAMETER;
use sintonia_model::sweep::{ParameterSweep, SweepMeasurement};
use sintonia_plot::{
    AxisSpec, AxisUnit, BandPoint, GAP, MeasuredPoint, Plot, PlotSeries, Point, ScaleType, SeriesMark, SeriesStyle, VerticalLine,
    residuals, sample_curve,
};

use crate::text_layout::short_number;

/// Points at which a band is computed; it is linear between them.
const BAND_POINTS: usize = 60;
/// Ranges with at least this ratio get a logarithmic axis.
const LOG_SCALE_RATIO: f64 = 8.0;

/// Plots the parameter with the largest range, others as in the longest run; none without parameters.
pub(crate) fn plot_model(model: &PerformanceModel) -> Option<Plot> {
    let names = model.parameter_names();
    let ratio = |index: &usize| model.parameters[*index].to / model.parameters[*index].from;
    let parameter = (0..model.parameters.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(b.cmp(a)))?;
    let longest = model.points.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let base = longest.map_or_else(|| model.parameters.iter().map(|p| p.to).collect(), |point| point.at.clone());
    let own = &model.parameters[parameter];
    Some(plot_sweep(model, &Predictor::new(model, &names), &ParameterSweep { parameter, base, from: own.from, to: own.to }))
}

/// Plots one sweep through the settings of a model.
pub(crate) fn plot_sweep(model: &PerformanceModel, predictor: &Predictor, sweep: &ParameterSweep) -> Plot {
    let value = |x: f64| model.point_estimate(&sweep.setting_at(x)).unwrap_or(f64::NAN);
    let points = measured_points(model, sweep);
    let ends = breakpoints(model);
    let mut series = Vec::new();
    series.extend(prediction_band(predictor, sweep, &ends).map(|band| PlotSeries::new("95 % of runs", SeriesStyle::Indexed(0), band)));
    series.push(PlotSeries::new("model", SeriesStyle::Indexed(0), SeriesMark::Curve(curve_points(sweep, &ends, value))));
    let parameter = &model.parameters[sweep.parameter].name;
    if parameter == RANKS_PARAMETER {
        let ideal = |p: f64| value(sweep.from) * sweep.from / p;
        series.push(PlotSeries::new("ideal", SeriesStyle::Reference, SeriesMark::Curve(sample_curve(sweep.from, sweep.to, ideal))));
    }
    if !ends.is_empty() {
        let mark = |end: &&Breakpoint| VerticalLine {
            x: end.at,
            interval: Some((end.interval.low, end.interval.high)),
            label: short_number(end.at),
        };
        series.push(PlotSeries::new("breakpoints", SeriesStyle::Indexed(2), SeriesMark::VerticalLines(ends.iter().map(mark).collect())));
    }
    let mut below = Vec::new();
    if !points.is_empty() {
        let bars = if points.iter().any(|point| point.error_bar.is_some()) { ", min to max" } else { "" };
        below.push(PlotSeries::new("measured", SeriesStyle::Indexed(1), SeriesMark::Points(residuals(&points, value))));
        series.push(PlotSeries::new(format!("measured{bars}"), SeriesStyle::Indexed(1), SeriesMark::Points(points)));
    }
    let others = fixed_parameters(model, sweep);
    let with = if others.is_empty() { String::new() } else { format!(" with {others}") };
    Plot { series, residuals: below, ..empty_plot(model, sweep, &with) }
}

/// Plots several sweeps that differ in the fixed parameters, each with band and measurements.
pub(crate) fn plot_sweeps(model: &PerformanceModel, predictor: &Predictor, lines: &[ParameterSweep]) -> Option<Plot> {
    let widest = ParameterSweep {
        from: lines.iter().map(|sweep| sweep.from).fold(f64::INFINITY, f64::min),
        to: lines.iter().map(|sweep| sweep.to).fold(0.0, f64::max),
        ..lines.first()?.clone()
    };
    let ends = breakpoints(model);
    let of_line = |(number, sweep): (usize, &ParameterSweep)| {
        let (name, ink) = (fixed_parameters(model, sweep), SeriesStyle::Indexed(number));
        let value = |x: f64| model.point_estimate(&sweep.setting_at(x)).unwrap_or(f64::NAN);
        let points = Some(measured_points(model, sweep)).filter(|points| !points.is_empty()).map(SeriesMark::Points);
        let shapes = [prediction_band(predictor, sweep, &ends), Some(SeriesMark::Curve(curve_points(sweep, &ends, value))), points];
        shapes.into_iter().flatten().map(move |shape| PlotSeries::new(name.clone(), ink, shape))
    };
    Some(Plot { series: lines.iter().enumerate().flat_map(of_line).collect(), ..empty_plot(model, &widest, "") })
}

/// An empty plot over the parameter of a sweep.
fn empty_plot(model: &PerformanceModel, sweep: &ParameterSweep, with: &str) -> Plot {
    let parameter = &model.parameters[sweep.parameter].name;
    let unit = if model.quantity.unit == "s" { AxisUnit::Seconds } else { AxisUnit::Other(model.quantity.unit.clone()) };
    let (label, counts) =
        if parameter == RANKS_PARAMETER { ("processes", AxisUnit::Count) } else { (parameter.as_str(), AxisUnit::Number) };
    // Powers are straight lines when both axes are logarithmic.
    let scale = if sweep.to / sweep.from >= LOG_SCALE_RATIO { ScaleType::Log } else { ScaleType::Linear };
    let of = if model.name == model.quantity.name { String::new() } else { format!("{}: ", model.name) };
    Plot {
        title: format!("{of}{} over {parameter}{with}", model.quantity.name),
        notes: Vec::new(),
        x: AxisSpec { scale, ..AxisSpec::new(label, counts) },
        y: AxisSpec { scale, ..AxisSpec::new(model.quantity.name.clone(), unit) },
        series: Vec::new(),
        residuals: Vec::new(),
    }
}

/// The fixed parameters of a sweep, as text.
pub(crate) fn fixed_parameters(model: &PerformanceModel, sweep: &ParameterSweep) -> String {
    let fixed = model.parameters.iter().zip(&sweep.base).enumerate().filter(|(index, _)| *index != sweep.parameter);
    fixed.map(|(_, (parameter, value))| format!("{} = {}", parameter.name, short_number(*value))).collect::<Vec<_>>().join(", ")
}

/// The measurements on a sweep: medians of repetitions, with a bar from minimum to maximum.
fn measured_points(model: &PerformanceModel, sweep: &ParameterSweep) -> Vec<MeasuredPoint> {
    let point = |one: SweepMeasurement| MeasuredPoint { x: one.at, y: one.median, error_bar: one.range };
    sweep.measurements(model).into_iter().map(point).collect()
}

/// The breakpoints, if the model is piecewise linear.
fn breakpoints(model: &PerformanceModel) -> Vec<&Breakpoint> {
    match model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) {
        Some(FittedCurve::Piecewise(pieces)) => pieces.lines.breaks.iter().collect(),
        _ => Vec::new(),
    }
}

/// The ranges of a sweep between breakpoints; each includes its end.
fn continuous_ranges(sweep: &ParameterSweep, ends: &[&Breakpoint]) -> Vec<(f64, f64)> {
    let inside = ends.iter().map(|end| end.at).filter(|at| sweep.from < *at && *at < sweep.to);
    let mut begin = sweep.from;
    let mut ranges: Vec<(f64, f64)> = inside.map(|at| (std::mem::replace(&mut begin, at * (1.0 + 1e-9)), at)).collect();
    ranges.push((begin, sweep.to));
    ranges
}

fn curve_points(sweep: &ParameterSweep, ends: &[&Breakpoint], value: impl Fn(f64) -> f64) -> Vec<Point> {
    let pieces = continuous_ranges(sweep, ends).into_iter().map(|(from, to)| sample_curve(from, to, &value));
    pieces.collect::<Vec<_>>().join(&GAP)
}

/// The 95 % prediction band; none if the prediction is exact.
fn prediction_band(predictor: &Predictor, sweep: &ParameterSweep, ends: &[&Breakpoint]) -> Option<SeriesMark> {
    let ranges = continuous_ranges(sweep, ends);
    let fixed = (BAND_POINTS / ranges.len()).max(8);
    let spread = |x: f64| predictor.predict_seconds(&sweep.setting_at(x)).map(|[low, _, high]| BandPoint { x, low, high });
    let of = |(from, to): (f64, f64)| (0..fixed).map(move |i| from * (to / from).powf(i as f64 / (fixed - 1) as f64));
    let gap = BandPoint { x: f64::NAN, low: f64::NAN, high: f64::NAN };
    let pieces = ranges.into_iter().map(|range| of(range).filter_map(spread).collect::<Vec<_>>());
    let band = pieces.collect::<Vec<_>>().join(&gap);
    band.iter().any(|spread| spread.high > spread.low * (1.0 + 1e-9)).then_some(SeriesMark::Band(band))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_model::series::CurveForm;
    use std::path::Path;

    fn series(plot: &Plot, name: &str) -> SeriesMark {
        plot.series.iter().find(|series| series.name.starts_with(name)).map(|series| series.mark.clone()).unwrap()
    }

    fn pieces() -> PerformanceModel {
        let rows: String =
            (1..=16).map(|k| 4096 * k).map(|n| format!("{n},{}\n", if n <= 32768 { n + 500 } else { 2 * n + 900 })).collect();
        let columns =
            sintonia_fit::table::TableColumns { parameters: vec!["n".into()], value: "send".into(), unit: None, kinds: Vec::new() };
        let table = sintonia_fit::table::read_csv("t.csv", &format!("n,send [us]\n{rows}"), &columns).unwrap();
        PerformanceModel::from_series(&table, &CurveForm::Pieces).unwrap()
    }

    #[test]
    fn the_curve_is_interrupted_where_a_line_ends() {
        let SeriesMark::Curve(curve) = series(&plot_model(&pieces()).unwrap(), "model") else { panic!("a curve") };
        let gap = curve.iter().position(|point| point.0.is_nan()).unwrap();
        assert!(curve[gap - 1].0 == 32768.0 && (curve[gap - 1].1 / 33268e-6 - 1.0).abs() < 1e-6, "{:?}", curve[gap - 1]);
        assert!((curve[gap + 1].1 / 66436e-6 - 1.0).abs() < 1e-6, "{:?}", curve[gap + 1]);
    }

    #[test]
    fn repetitions_are_one_point_with_a_bar_from_the_least_to_the_most() {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n/p\"\n[[parameter]]\nname = \"n\"\nfrom = 1\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 4\n\
                    [measured]\npoints = [[100, 2, 52], [100, 2, 48], [100, 2, 49], [100, 4, 25], [50, 2, 25]]\n";
        let model = PerformanceModel::parse(text, Path::new("m")).unwrap();
        let sweep = ParameterSweep { parameter: 1, base: vec![100.0, 1.0], from: 1.0, to: 4.0 };
        let names = model.parameter_names();
        let plot = plot_sweep(&model, &Predictor::new(&model, &names), &sweep);
        let expected =
            [MeasuredPoint { x: 2.0, y: 49.0, error_bar: Some((48.0, 52.0)) }, MeasuredPoint { x: 4.0, y: 25.0, error_bar: None }];
        assert_eq!(series(&plot, "measured, min to max"), SeriesMark::Points(expected.into()));
        assert_eq!(plot.residuals.len(), 1);
        assert_eq!(plot.title, "lu: time over p with n = 100");
        let SeriesMark::Curve(ideal) = series(&plot, "ideal") else { panic!("a curve") };
        assert_eq!(ideal.last(), Some(&(4.0, 25.0)));
    }

    #[test]
    fn a_model_in_which_nothing_changes_has_no_plot() {
        let model = PerformanceModel::parse("format = 1\n[model]\nname = \"x\"\nformula = \"3\"\n", Path::new("m")).unwrap();
        assert_eq!(plot_model(&model), None);
    }
}
