//! `scaling`: the model of all open recordings, or the given one, as curves.
//!
//! `?times=8` extrapolates each parameter by this factor, `?at.n=400` sets a fixed parameter, `?efficiency=0.7` sets the minimum efficiency.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sintonia_model::forecast::{Forecast, PredictionQuery as Asked};
use sintonia_model::model::{MeasuredParameter, PerformanceModel};
use sintonia_model::predict::{EstimateRange, Predictor};
use sintonia_model::run::{MeasuredRun, RANKS_PARAMETER};
use sintonia_model::sweep::ParameterSweep;
use sintonia_view::answer::{PageQuery, QueryAnswer, QueryError};

use super::jobs::{JobProgress, JobRequest};
use super::session::{OpenRecording, ViewSession, to_refusal};
use super::subjects::PageSubject;
use crate::fit::{FitResult, plot, recordings};
use crate::predict::json;

pub(super) const SUBJECT: PageSubject =
    PageSubject { name: "scaling", is_available: |open| open.model.is_some() || open.recordings.len() > 1, answer };

/// The number of points of a curve.
const CURVE_POINTS: usize = 64;
/// The maximum extrapolation factor.
const MAX_EXTRAPOLATION: f64 = 4096.0;
/// The maximum number of separate parts; the others are merged.
const MAX_PARTS: usize = 7;

/// A model as curves.
#[derive(Serialize)]
struct ScalingJson<'a> {
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
    lines: Vec<CurveJson>,
}

/// The time over one parameter.
#[derive(Serialize)]
struct CurveJson {
    parameter: String,
    /// The values of the others.
    others: BTreeMap<String, f64>,
    x: Vec<f64>,
    /// Low, middle and high at each of them.
    seconds: Vec<EstimateRange>,
    parts: Vec<PartCurveJson>,
    measured: Vec<MeasuredPointJson>,
    /// As from `sintonia predict --json`.
    forecast: Option<json::ForecastJson>,
}

/// A part of the time: seconds at each point of the curve.
#[derive(Serialize)]
struct PartCurveJson {
    name: String,
    seconds: Vec<f64>,
}

/// A measurement: the median, and minimum and maximum of repetitions.
#[derive(Serialize)]
struct MeasuredPointJson {
    x: f64,
    seconds: f64,
    between: Option<(f64, f64)>,
}

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let query = ScalingQuery::from_question(question)?;
    if let Some(model) = &open.model {
        return query.answer(model, None);
    }
    if open.recordings.len() < 2 {
        return Err(QueryError::Unavailable(
            "only one recording is open: a model needs several with different parameters or ranks, or a model file (--model)".into(),
        ));
    }
    let (recordings, permit) = (open.recordings.clone(), open.read_permit(&open.recordings));
    let steps = recordings.iter().map(|opened| MeasuredRun::progress_steps(&opened.recording)).sum();
    let machine = open.machine.clone();
    let work = move |progress: &JobProgress| {
        let read = |opened: &Arc<OpenRecording>| {
            opened.check_memory()?;
            MeasuredRun::from_recording(&opened.name(), &opened.recording, &|| progress.step()).map_err(to_refusal)
        };
        let runs = recordings.iter().map(read).collect::<Result<Vec<MeasuredRun>, QueryError>>()?;
        recordings::fit_runs(runs, None, None, machine.as_ref()).map_err(to_refusal)
    };
    let task = JobRequest { description: "fitting a model to the recordings".into(), steps, permit, work };
    open.fitted_model.answer(task, |FitResult { model, next, .. }| query.answer(model, next.as_ref().map(recordings::record_command)))
}

/// The options of a question.
struct ScalingQuery {
    times: f64,
    efficiency: f64,
    at: BTreeMap<String, f64>,
}

impl ScalingQuery {
    fn from_question(question: &PageQuery) -> Result<ScalingQuery, QueryError> {
        let wrong = |parameter: &str, reason: &str| QueryError::InvalidParameter { parameter: parameter.into(), reason: reason.into() };
        let positive = |parameter: &str| -> Result<Option<f64>, QueryError> {
            let number = question.parse_param::<f64>(parameter)?;
            match number.is_none_or(|number| number > 0.0 && number.is_finite()) {
                true => Ok(number),
                false => Err(wrong(parameter, "must be greater than 0")),
            }
        };
        let (times, efficiency) = (positive("times")?.unwrap_or(4.0), positive("efficiency")?.unwrap_or(0.5));
        if !(1.0..=MAX_EXTRAPOLATION).contains(&times) {
            return Err(wrong("times", "from 1 to 4096"));
        }
        if efficiency > 1.0 {
            return Err(wrong("efficiency", "a share from 0 to 1"));
        }
        let own = question.params.keys().filter_map(|key| Some((key, key.strip_prefix("at.")?)));
        let at = own.map(|(key, name)| Ok(positive(key)?.map(|value| (name.to_owned(), value)))).collect::<Result<Vec<_>, QueryError>>()?;
        Ok(ScalingQuery { times, efficiency, at: at.into_iter().flatten().collect() })
    }

    fn answer(&self, model: &PerformanceModel, next: Option<String>) -> Result<QueryAnswer, QueryError> {
        if let Some(name) = self.at.keys().find(|name| !model.parameters.iter().any(|known| known.name == **name)) {
            return Err(QueryError::InvalidParameter {
                parameter: format!("at.{name}"),
                reason: format!("the time depends on {}", model.parameter_names().join(", ")),
            });
        }
        let names = model.parameter_names();
        let predictor = Predictor::new(model, &names);
        let base = self.fixed_values(model);
        let ratio = |index: &usize| model.parameters[*index].to / model.parameters[*index].from;
        Ok(QueryAnswer::json(&ScalingJson {
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
        }))
    }

    /// The values of the fixed parameters: those of the longest run by default.
    fn fixed_values(&self, model: &PerformanceModel) -> Vec<f64> {
        let longest = model.points.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        let mut base = longest.map_or_else(|| model.parameters.iter().map(|own| own.to).collect(), |point| point.at.clone());
        for (value, own) in base.iter_mut().zip(&model.parameters) {
            *value = self.at.get(&own.name).copied().unwrap_or(*value);
        }
        base
    }

    fn curve(&self, model: &PerformanceModel, predictor: &Predictor, parameter: usize, base: &[f64]) -> CurveJson {
        let own = &model.parameters[parameter];
        let line = ParameterSweep { parameter, base: base.to_vec(), from: own.from, to: own.to * self.times };
        let (x, seconds): (Vec<f64>, Vec<EstimateRange>) = curve_points(&line, own.name == RANKS_PARAMETER)
            .into_iter()
            .filter_map(|x| Some((x, predictor.predict_seconds(&line.setting_at(x))?)))
            .unzip();
        let point =
            |point: sintonia_formats::plot::MeasuredPoint| MeasuredPointJson { x: point.x, seconds: point.y, between: point.error_bar };
        CurveJson {
            parameter: own.name.clone(),
            others: fixed_parameters(model, &line),
            parts: part_curves(predictor, &line, &x),
            measured: plot::measured_points(model, &line).into_iter().map(point).collect(),
            forecast: self.forecast(model, predictor, &line),
            x,
            seconds,
        }
    }

    /// Predictions at doubling values of the parameter.
    fn forecast(&self, model: &PerformanceModel, predictor: &Predictor, line: &ParameterSweep) -> Option<json::ForecastJson> {
        let own = &model.parameters[line.parameter].name;
        let mut parameters: BTreeMap<String, Vec<f64>> =
            fixed_parameters(model, line).into_iter().map(|(name, value)| (name, vec![value])).collect();
        parameters.insert(own.clone(), doubling_values(line));
        let asked = Asked { parameters, efficiency: self.efficiency, speedup_base: None };
        Forecast::new(model, predictor, &asked).ok().map(|forecast| json::ForecastJson::new(&forecast, false))
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
fn part_curves(predictor: &Predictor, line: &ParameterSweep, x: &[f64]) -> Vec<PartCurveJson> {
    let at = |x: f64| predictor.contributions(&line.setting_at(x)).into_iter().filter(|one| one.is_part).collect::<Vec<_>>();
    let Some(last) = x.last() else { return Vec::new() };
    let names: Vec<String> = at(*last).iter().take(MAX_PARTS).map(|one| one.name.to_owned()).collect();
    let mut parts: Vec<PartCurveJson> = names.into_iter().map(|name| PartCurveJson { name, seconds: Vec::new() }).collect();
    let mut rest = PartCurveJson { name: "everything else".into(), seconds: Vec::new() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn asked(query: &[(&str, &str)]) -> Result<serde_json::Value, QueryError> {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n[[parameter]]\nname = \"n\"\nfrom = 10\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        let model = PerformanceModel::parse(text, Path::new("lu")).unwrap();
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        match ScalingQuery::from_question(&PageQuery { params: query, ..PageQuery::default() })?.answer(&model, None)? {
            QueryAnswer::Json(text) => Ok(serde_json::from_str(&text).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn there_is_a_curve_for_each_parameter_with_the_others_as_they_are_told() {
        let told = asked(&[("at.n", "50"), ("times", "8")]).unwrap();
        let curve = &told["lines"][1];
        assert_eq!((curve["parameter"].as_str(), curve["others"]["n"].as_f64()), (Some("p"), Some(50.0)));
        let (x, seconds) = (curve["x"].as_array().unwrap(), curve["seconds"].as_array().unwrap());
        assert_eq!((x.len(), x.last().unwrap().as_f64()), (seconds.len(), Some(128.0)));
        assert!((seconds.last().unwrap()[1].as_f64().unwrap() - (2500.0 / 128.0 + 128.0)).abs() < 1e-9);
        let best = curve["forecast"]["best"]["time"].as_f64().unwrap();
        assert!((45.0..=50.0).contains(&best), "{best}: from where n^2/p = p on it is no faster, and hardly before");
    }

    #[test]
    fn what_no_model_can_answer_is_refused_with_the_parameter() {
        for (name, value) in [("times", "0"), ("times", "1e9"), ("efficiency", "2"), ("at.n", "-1"), ("at.m", "5"), ("times", "many")] {
            let refused = asked(&[(name, value)]).unwrap_err();
            assert!(matches!(&refused, QueryError::InvalidParameter { parameter, .. } if parameter == name), "{name}={value}: {refused}");
        }
    }
}
