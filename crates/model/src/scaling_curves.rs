//! A model as curves: the time over each of its parameters, beyond the measured range.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::forecast::json::ForecastJson;
use crate::forecast::{Forecast, PredictionQuery};
use crate::model::{MeasuredParameter, PerformanceModel};
use crate::predict::{EstimateRange, Predictor};
use crate::run::RANKS_PARAMETER;
use crate::sweep::{ParameterSweep, SweepMeasurement};

/// The number of points of a curve.
const CURVE_POINTS: usize = 64;
/// The maximum number of separate parts; the others are merged.
const MAX_PARTS: usize = 7;

/// How far the curves go.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveOptions {
    /// The factor by which each parameter is extrapolated.
    pub times: f64,
    /// The minimum acceptable efficiency.
    pub efficiency: f64,
    /// Values of fixed parameters; those of the longest run by default.
    pub at: BTreeMap<String, f64>,
}

/// A model as curves.
#[derive(Serialize)]
pub struct ScalingCurves<'a> {
    name: &'a str,
    quantity: &'a str,
    unit: &'a str,
    formula: String,
    parameters: &'a [MeasuredParameter],
    fixed: &'a BTreeMap<String, f64>,
    error_percent: Option<f64>,
    noise_percent: f64,
    efficiency: f64,
    times: f64,
    /// How to record the most informative next run.
    next: Option<String>,
    notes: &'a [String],
    /// The parameter with the largest range.
    first: usize,
    /// One curve for each parameter.
    lines: Vec<ScalingCurve>,
}

/// The time over one parameter.
#[derive(Serialize)]
struct ScalingCurve {
    parameter: String,
    /// The values of the others.
    others: BTreeMap<String, f64>,
    x: Vec<f64>,
    /// Low, middle and high at each of them.
    seconds: Vec<EstimateRange>,
    parts: Vec<PartCurve>,
    measured: Vec<CurvePoint>,
    /// As from `sintonia predict --json`.
    forecast: Option<ForecastJson>,
}

/// A part of the time: seconds at each point of the curve.
#[derive(Serialize)]
struct PartCurve {
    name: String,
    seconds: Vec<f64>,
}

/// A measurement: the median, and minimum and maximum of repetitions.
#[derive(Serialize)]
struct CurvePoint {
    x: f64,
    seconds: f64,
    between: Option<(f64, f64)>,
}

impl CurveOptions {
    /// The curves of a model; `next` is the command for the most informative next run.
    pub fn curves<'a>(&self, model: &'a PerformanceModel, next: Option<String>) -> ScalingCurves<'a> {
        let names = model.parameter_names();
        let predictor = Predictor::new(model, &names);
        let base = self.fixed_values(model);
        let ratio = |index: &usize| model.parameters[*index].to / model.parameters[*index].from;
        ScalingCurves {
            name: &model.name,
            quantity: &model.quantity.name,
            unit: &model.quantity.unit,
            formula: model.formula().to_string(),
            parameters: &model.parameters,
            fixed: &model.fixed,
            error_percent: model.error_percent().or(model.whole.as_ref().and_then(|whole| whole.error_percent)),
            noise_percent: model.noise_percent,
            efficiency: self.efficiency,
            times: self.times,
            next,
            notes: &model.notes,
            first: (0..model.parameters.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(b.cmp(a))).unwrap_or(0),
            lines: (0..names.len()).map(|parameter| self.curve(model, &predictor, parameter, &base)).collect(),
        }
    }

    /// The values of the fixed parameters.
    fn fixed_values(&self, model: &PerformanceModel) -> Vec<f64> {
        let longest = model.points.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        let mut base = longest.map_or_else(|| model.parameters.iter().map(|own| own.to).collect(), |point| point.at.clone());
        for (value, own) in base.iter_mut().zip(&model.parameters) {
            *value = self.at.get(&own.name).copied().unwrap_or(*value);
        }
        base
    }

    fn curve(&self, model: &PerformanceModel, predictor: &Predictor, parameter: usize, base: &[f64]) -> ScalingCurve {
        let own = &model.parameters[parameter];
        let line = ParameterSweep { parameter, base: base.to_vec(), from: own.from, to: own.to * self.times };
        let (x, seconds): (Vec<f64>, Vec<EstimateRange>) = curve_points(&line, own.name == RANKS_PARAMETER)
            .into_iter()
            .filter_map(|x| Some((x, predictor.predict_seconds(&line.setting_at(x))?)))
            .unzip();
        let point = |one: SweepMeasurement| CurvePoint { x: one.at, seconds: one.median, between: one.range };
        ScalingCurve {
            parameter: own.name.clone(),
            others: fixed_parameters(model, &line),
            parts: part_curves(predictor, &line, &x),
            measured: line.measurements(model).into_iter().map(point).collect(),
            forecast: self.forecast(model, predictor, &line),
            x,
            seconds,
        }
    }

    /// Predictions at doubling values of the parameter.
    fn forecast(&self, model: &PerformanceModel, predictor: &Predictor, line: &ParameterSweep) -> Option<ForecastJson> {
        let own = &model.parameters[line.parameter].name;
        let mut parameters: BTreeMap<String, Vec<f64>> =
            fixed_parameters(model, line).into_iter().map(|(name, value)| (name, vec![value])).collect();
        parameters.insert(own.clone(), doubling_values(line));
        let asked = PredictionQuery { parameters, efficiency: self.efficiency, speedup_base: None };
        Forecast::new(model, predictor, &asked).ok().map(|forecast| ForecastJson::new(&forecast, false))
    }
}

fn doubling_values(line: &ParameterSweep) -> Vec<f64> {
    std::iter::successors(Some(line.from), |value| Some(value * 2.0)).take_while(|value| *value <= line.to * (1.0 + 1e-9)).collect()
}

/// Geometrically spaced points of a sweep; integers for the number of processes.
fn curve_points(line: &ParameterSweep, whole: bool) -> Vec<f64> {
    let at = |index: usize| line.from * (line.to / line.from).powf(index as f64 / (CURVE_POINTS - 1) as f64);
    let mut places: Vec<f64> = (0..CURVE_POINTS).map(at).map(|x| if whole { x.round() } else { x }).collect();
    places.dedup();
    places
}

fn fixed_parameters(model: &PerformanceModel, line: &ParameterSweep) -> BTreeMap<String, f64> {
    let all = model.parameters.iter().zip(&line.base).enumerate();
    all.filter(|(index, _)| *index != line.parameter).map(|(_, (own, value))| (own.name.clone(), *value)).collect()
}

/// The parts of the time along a sweep: the largest at its end, and the rest.
fn part_curves(predictor: &Predictor, line: &ParameterSweep, x: &[f64]) -> Vec<PartCurve> {
    let at = |x: f64| predictor.contributions(&line.setting_at(x)).into_iter().filter(|one| one.is_part).collect::<Vec<_>>();
    let Some(last) = x.last() else { return Vec::new() };
    let names: Vec<String> = at(*last).iter().take(MAX_PARTS).map(|one| one.name.to_owned()).collect();
    let mut parts: Vec<PartCurve> = names.into_iter().map(|name| PartCurve { name, seconds: Vec::new() }).collect();
    let mut rest = PartCurve { name: "everything else".into(), seconds: Vec::new() };
    for x in x {
        let here = at(*x);
        let of = |name: &str| here.iter().filter(|one| one.name == name).map(|one| one.seconds[1]).sum::<f64>();
        parts.iter_mut().for_each(|part| part.seconds.push(of(&part.name)));
        let is_told = |name: &str| parts.iter().any(|part| part.name == name);
        rest.seconds.push(here.iter().filter(|one| !is_told(one.name)).map(|one| one.seconds[1]).sum());
    }
    let has_rest = rest.seconds.iter().any(|seconds| *seconds > 0.0);
    parts.into_iter().chain(has_rest.then_some(rest)).collect()
}
