//! A prediction, for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_model::forecast::{Forecast, Row, Set};
use sintonia_model::made_of::{Ingredient, made_of};
use sintonia_model::model::Model;
use sintonia_model::predict::Figure;

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
    time_between: [f64; 2],
    still_falls: bool,
    efficiency: Option<f64>,
    efficiency_between: Option<[f64; 2]>,
    still_enough: bool,
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
    between: [f64; 2],
    below: String,
    above: String,
}

impl Shown {
    /// Everything that was predicted; with what each prediction is made of, if that is asked for.
    pub fn of(forecast: &Forecast, explain: bool) -> Shown {
        let model = forecast.model;
        let sets: Vec<SetShown> = forecast.sets.iter().map(|set| shown(model, set)).collect();
        Shown {
            formula: model.formula().to_string(),
            unit: model.quantity.unit.clone(),
            predictions: forecast.rows.iter().map(|row| prediction(forecast, row, explain)).collect(),
            best: sets.iter().find_map(|set| set.best.clone()),
            sets,
            speedup_base: forecast.base,
            error_percent: model.error_percent(),
            notes: model.notes.clone(),
        }
    }
}

fn between([low, _, high]: Figure) -> [f64; 2] {
    [low, high]
}

fn prediction(forecast: &Forecast, row: &Row, explain: bool) -> Prediction {
    let terms = if explain { made_of(forecast.model, forecast.predictor, &row.setting) } else { Vec::new() };
    let shown =
        |one: Ingredient| TermShown { name: one.called().to_owned(), seconds: one.value, is_role: one.is_role, formula: one.formula };
    Prediction {
        procs: row.processes,
        params: named(forecast.model, &row.setting),
        seconds: row.seconds,
        speedup: row.speedup.map(|figure| figure[1]),
        speedup_between: row.speedup.map(between),
        efficiency: row.efficiency.map(|figure| figure[1]),
        efficiency_between: row.efficiency.map(between),
        cost: row.cost,
        limited_by: row.most.as_ref().map(|(name, _)| name.clone()),
        limited_by_share: row.most.as_ref().map(|(_, share)| *share),
        times_beyond: row.beyond,
        terms: terms.into_iter().map(shown).collect(),
    }
}

fn shown(model: &Model, set: &Set) -> SetShown {
    let changing = &model.parameters[set.line.parameter].name;
    let mut params = named(model, &set.line.base);
    params.retain(|name, _| name != changing);
    let best = set.best.map(|best| Best {
        time: best.time[1],
        time_between: between(best.time),
        still_falls: best.still_falls,
        efficiency: best.efficiency.map(|figure| figure[1]),
        efficiency_between: best.efficiency.map(between),
        still_enough: best.still_enough,
    });
    let crossings = set.reigns.iter().zip(set.reigns.iter().skip(1)).filter_map(|(below, above)| {
        let until = below.until?;
        let (below, above) = (below.name.clone(), above.name.clone());
        Some(CrossingShown { parameter: changing.clone(), at: until[1], between: between(until), below, above })
    });
    SetShown { params, best, crossings: crossings.collect() }
}

fn named(model: &Model, setting: &[f64]) -> BTreeMap<String, f64> {
    model.names().into_iter().zip(setting.iter().copied()).collect()
}
