//! A prediction, for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_model::forecast::{Forecast, Row, Set};
use sintonia_model::model::Model;
use sintonia_model::predict::{Figure, Predictor};

/// Everything that was predicted.
#[derive(Serialize)]
pub struct Shown {
    formula: String,
    unit: String,
    predictions: Vec<Prediction>,
    /// The numbers of processes to choose, for the first combination of the other parameters.
    best: Option<Best>,
    /// The same and more for each combination.
    sets: Vec<SetShown>,
    speedup_base: Option<f64>,
    error_percent: Option<f64>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Prediction {
    procs: Option<f64>,
    params: BTreeMap<String, f64>,
    seconds: Figure,
    speedup: Option<f64>,
    speedup_between: Option<[f64; 2]>,
    efficiency: Option<f64>,
    efficiency_between: Option<[f64; 2]>,
    cost: Option<Figure>,
    limited_by: Option<String>,
    limited_by_share: Option<f64>,
    times_beyond: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<TermShown>,
}

#[derive(Serialize)]
struct TermShown {
    name: String,
    formula: String,
    seconds: Figure,
    is_role: bool,
}

#[derive(Clone, Serialize)]
struct Best {
    time: f64,
    still_falls: bool,
    efficiency: Option<f64>,
}

#[derive(Serialize)]
struct SetShown {
    params: BTreeMap<String, f64>,
    best: Option<Best>,
    crossings: Vec<CrossingShown>,
}

#[derive(Serialize)]
struct CrossingShown {
    parameter: String,
    at: f64,
    below: String,
    above: String,
}

impl Shown {
    /// Everything that was predicted; with what each prediction is made of, if that is asked for.
    pub fn of(model: &Model, forecast: &Forecast, explain: bool) -> Shown {
        let names = model.names();
        let predictor = explain.then(|| Predictor::new(model, &names));
        let sets: Vec<SetShown> = forecast.sets.iter().map(|set| shown(model, set)).collect();
        Shown {
            formula: model.formula().to_string(),
            unit: model.quantity.unit.clone(),
            predictions: forecast.rows.iter().map(|row| prediction(model, row, predictor.as_ref())).collect(),
            best: sets.iter().find_map(|set| set.best.clone()),
            sets,
            speedup_base: forecast.base,
            error_percent: model.error_percent(),
            notes: model.notes.clone(),
        }
    }
}

fn prediction(model: &Model, row: &Row, predictor: Option<&Predictor>) -> Prediction {
    let between = |figure: Option<Figure>| figure.map(|[low, _, high]| [low, high]);
    let contributions = predictor.map(|predictor| predictor.contributions(&row.setting)).unwrap_or_default();
    Prediction {
        procs: row.processes,
        params: named(model, &row.setting),
        seconds: row.seconds,
        speedup: row.speedup.map(|figure| figure[1]),
        speedup_between: between(row.speedup),
        efficiency: row.efficiency.map(|figure| figure[1]),
        efficiency_between: between(row.efficiency),
        cost: row.cost,
        limited_by: row.most.as_ref().map(|(name, _)| name.clone()),
        limited_by_share: row.most.as_ref().map(|(_, share)| *share),
        times_beyond: row.beyond,
        terms: contributions
            .into_iter()
            .map(|one| TermShown {
                name: one.name.into(),
                formula: one.term.formula.to_string(),
                seconds: one.seconds,
                is_role: !one.is_part,
            })
            .collect(),
    }
}

fn shown(model: &Model, set: &Set) -> SetShown {
    let changing = set.line.as_ref().map(|line| model.parameters[line.parameter].name.clone());
    let mut params = set.line.as_ref().map(|line| named(model, &line.base)).unwrap_or_default();
    params.retain(|name, _| Some(name) != changing.as_ref());
    SetShown {
        params,
        best: set.best.map(|best| Best { time: best.time, still_falls: best.still_falls, efficiency: best.efficiency }),
        crossings: set
            .crossings
            .iter()
            .map(|one| CrossingShown {
                parameter: changing.clone().unwrap_or_default(),
                at: one.at,
                below: one.below.clone(),
                above: one.above.clone(),
            })
            .collect(),
    }
}

fn named(model: &Model, setting: &[f64]) -> BTreeMap<String, f64> {
    model.names().into_iter().zip(setting.iter().copied()).collect()
}
