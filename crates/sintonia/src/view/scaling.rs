//! `scaling`: the model of all recordings that are open, or the one that was given, as curves.
//!
//! `?times=8` follows each parameter so many times beyond what was measured, `?at.n=400` sets another one, `?efficiency=0.7` says how much
//! is enough.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sintonia_model::forecast::{Forecast, Question as Asked};
use sintonia_model::model::{Model, Parameter};
use sintonia_model::predict::{Figure, Predictor};
use sintonia_model::run::{RANKS, Run};
use sintonia_model::sweep::Line;
use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::{Open, Opened, not_there};
use super::slow::{Progress, Task};
use super::subject::Subject;
use crate::fit::{Found, plot, recordings};
use crate::predict::json;

pub const SUBJECT: Subject = Subject { name: "scaling", is_there: |open| open.model.is_some() || open.recordings.len() > 1, answer };

/// How many places of a curve are computed.
const PLACES: usize = 64;
/// How many times beyond what was measured a curve may go.
const MOST_TIMES: f64 = 4096.0;
/// Parts that are told apart; the others are put together.
const MOST_PARTS: usize = 7;

/// A model as curves.
#[derive(Serialize)]
struct Scaling<'a> {
    name: &'a str,
    quantity: &'a str,
    unit: &'a str,
    formula: String,
    parameters: &'a [Parameter],
    fixed: &'a BTreeMap<String, f64>,
    error_percent: Option<f64>,
    noise_percent: f64,
    efficiency: f64,
    times: f64,
    /// How to record the run that would say most.
    next: Option<String>,
    notes: &'a [String],
    /// The parameter that changed most.
    first: usize,
    /// One curve for each parameter.
    lines: Vec<Curve>,
}

/// The time along one parameter.
#[derive(Serialize)]
struct Curve {
    parameter: String,
    /// The values of the others.
    others: BTreeMap<String, f64>,
    x: Vec<f64>,
    /// Lowest, middle and highest at each of them.
    seconds: Vec<Figure>,
    parts: Vec<Part>,
    measured: Vec<Point>,
    /// What `sintonia predict --json` shows.
    forecast: Option<json::Shown>,
}

/// What the time is made of: seconds at each place of the curve.
#[derive(Serialize)]
struct Part {
    name: String,
    seconds: Vec<f64>,
}

/// What was measured: the middle, and from the least to the most where it was measured again.
#[derive(Serialize)]
struct Point {
    x: f64,
    seconds: f64,
    between: Option<(f64, f64)>,
}

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let wish = Wish::of(question)?;
    if let Some(model) = &open.model {
        return wish.answer(model, None);
    }
    if open.recordings.len() < 2 {
        return Err(Refusal::NotThere(
            "one recording is open: a model takes several that differ in parameters or ranks, or a model file (--model)".into(),
        ));
    }
    let (recordings, turn) = (open.recordings.clone(), open.turn_to_read(&open.recordings));
    let steps = recordings.iter().map(|opened| Run::steps(&opened.recording)).sum();
    let machine = open.machine.clone();
    let work = move |progress: &Progress| {
        let read = |opened: &Arc<Opened>| {
            opened.has_room()?;
            Run::of(&opened.name(), &opened.recording, &|| progress.step()).map_err(not_there)
        };
        let runs = recordings.iter().map(read).collect::<Result<Vec<Run>, Refusal>>()?;
        recordings::find(runs, None, None, machine.as_ref()).map_err(not_there)
    };
    let task = Task { doing: "fitting a model to the recordings".into(), steps, turn, work };
    open.fitted.answer(task, |Found { model, next, .. }| wish.answer(model, next.as_ref().map(recordings::record)))
}

/// What a question asks in particular.
struct Wish {
    times: f64,
    efficiency: f64,
    at: BTreeMap<String, f64>,
}

impl Wish {
    fn of(question: &Question) -> Result<Wish, Refusal> {
        let wrong = |parameter: &str, reason: &str| Refusal::Query { parameter: parameter.into(), reason: reason.into() };
        let positive = |parameter: &str| -> Result<Option<f64>, Refusal> {
            let number = question.number::<f64>(parameter)?;
            match number.is_none_or(|number| number > 0.0 && number.is_finite()) {
                true => Ok(number),
                false => Err(wrong(parameter, "it must be more than 0")),
            }
        };
        let (times, efficiency) = (positive("times")?.unwrap_or(4.0), positive("efficiency")?.unwrap_or(0.5));
        if !(1.0..=MOST_TIMES).contains(&times) {
            return Err(wrong("times", "from 1 to 4096"));
        }
        if efficiency > 1.0 {
            return Err(wrong("efficiency", "a share from 0 to 1"));
        }
        let own = question.query.keys().filter_map(|key| Some((key, key.strip_prefix("at.")?)));
        let at = own.map(|(key, name)| Ok(positive(key)?.map(|value| (name.to_owned(), value)))).collect::<Result<Vec<_>, Refusal>>()?;
        Ok(Wish { times, efficiency, at: at.into_iter().flatten().collect() })
    }

    fn answer(&self, model: &Model, next: Option<String>) -> Result<Answer, Refusal> {
        if let Some(name) = self.at.keys().find(|name| !model.parameters.iter().any(|known| known.name == **name)) {
            return Err(Refusal::Query {
                parameter: format!("at.{name}"),
                reason: format!("the time depends on {}", model.names().join(", ")),
            });
        }
        let names = model.names();
        let predictor = Predictor::new(model, &names);
        let base = self.base(model);
        let ratio = |place: &usize| model.parameters[*place].to / model.parameters[*place].from;
        Ok(Answer::json(&Scaling {
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

    /// The values of the parameters that do not change: those of the longest run, unless they are told.
    fn base(&self, model: &Model) -> Vec<f64> {
        let longest = model.points.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        let mut base = longest.map_or_else(|| model.parameters.iter().map(|own| own.to).collect(), |point| point.at.clone());
        for (value, own) in base.iter_mut().zip(&model.parameters) {
            *value = self.at.get(&own.name).copied().unwrap_or(*value);
        }
        base
    }

    fn curve(&self, model: &Model, predictor: &Predictor, parameter: usize, base: &[f64]) -> Curve {
        let own = &model.parameters[parameter];
        let line = Line { parameter, base: base.to_vec(), from: own.from, to: own.to * self.times };
        let (x, seconds): (Vec<f64>, Vec<Figure>) =
            places(&line, own.name == RANKS).into_iter().filter_map(|x| Some((x, predictor.seconds(&line.at(x))?))).unzip();
        let point = |point: sintonia_formats::plot::Measured| Point { x: point.x, seconds: point.y, between: point.between };
        Curve {
            parameter: own.name.clone(),
            others: others(model, &line),
            parts: parts(predictor, &line, &x),
            measured: plot::measured(model, &line).into_iter().map(point).collect(),
            forecast: self.forecast(model, predictor, &line),
            x,
            seconds,
        }
    }

    /// What is predicted where the parameter doubles.
    fn forecast(&self, model: &Model, predictor: &Predictor, line: &Line) -> Option<json::Shown> {
        let own = &model.parameters[line.parameter].name;
        let mut parameters: BTreeMap<String, Vec<f64>> = others(model, line).into_iter().map(|(name, value)| (name, vec![value])).collect();
        parameters.insert(own.clone(), doubled(line));
        let asked = Asked { parameters, efficiency: self.efficiency, base: None };
        Forecast::of(model, predictor, &asked).ok().map(|forecast| json::Shown::of(&forecast, false))
    }
}

fn doubled(line: &Line) -> Vec<f64> {
    std::iter::successors(Some(line.from), |value| Some(value * 2.0)).take_while(|value| *value <= line.to * (1.0 + 1e-9)).collect()
}

/// Places along a line, each as many times the one before; whole ones of what cannot be halved.
fn places(line: &Line, whole: bool) -> Vec<f64> {
    let at = |place: usize| line.from * (line.to / line.from).powf(place as f64 / (PLACES - 1) as f64);
    let mut places: Vec<f64> = (0..PLACES).map(at).map(|x| if whole { x.round() } else { x }).collect();
    places.dedup();
    places
}

fn others(model: &Model, line: &Line) -> BTreeMap<String, f64> {
    let all = model.parameters.iter().zip(&line.base).enumerate();
    all.filter(|(place, _)| *place != line.parameter).map(|(_, (own, value))| (own.name.clone(), *value)).collect()
}

/// What the time is made of along a line: the largest parts at its end, and the rest.
fn parts(predictor: &Predictor, line: &Line, x: &[f64]) -> Vec<Part> {
    let at = |x: f64| predictor.contributions(&line.at(x)).into_iter().filter(|one| one.is_part).collect::<Vec<_>>();
    let Some(last) = x.last() else { return Vec::new() };
    let names: Vec<String> = at(*last).iter().take(MOST_PARTS).map(|one| one.name.to_owned()).collect();
    let mut parts: Vec<Part> = names.into_iter().map(|name| Part { name, seconds: Vec::new() }).collect();
    let mut rest = Part { name: "everything else".into(), seconds: Vec::new() };
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

    fn asked(query: &[(&str, &str)]) -> Result<serde_json::Value, Refusal> {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n[[parameter]]\nname = \"n\"\nfrom = 10\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        let model = Model::parse(text, Path::new("lu")).unwrap();
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        match Wish::of(&Question { query, ..Question::default() })?.answer(&model, None)? {
            Answer::Json(text) => Ok(serde_json::from_str(&text).unwrap()),
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
            assert!(matches!(&refused, Refusal::Query { parameter, .. } if parameter == name), "{name}={value}: {refused}");
        }
    }
}
