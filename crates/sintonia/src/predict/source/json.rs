//! A prediction from source, for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_model::predict::Figure;
use sintonia_pamela::estimate::Crew;

use super::{Best, Outlook, Row};

/// Everything that was predicted.
#[derive(Serialize)]
pub struct Shown {
    formula: String,
    unit: &'static str,
    predictions: Vec<Prediction>,
    /// The numbers of processes to choose, for the first combination of the other parameters.
    best: Option<BestShown>,
    expressions: BTreeMap<String, String>,
    conditions: Vec<Condition>,
    speedup_base: u64,
}

#[derive(Serialize)]
struct Prediction {
    procs: u64,
    params: BTreeMap<String, f64>,
    seconds: Figure,
    bounds: [f64; 2],
    speedup: f64,
    speedup_between: [f64; 2],
    efficiency: f64,
    efficiency_between: [f64; 2],
    rules: String,
    /// Whether the bounds hold only if tasks that were not looked at are like the others.
    is_sampled: bool,
    terms: Vec<Named<Figure>>,
    shares: Vec<Named<f64>>,
    workers: Vec<CrewShown>,
}

#[derive(Serialize)]
struct Named<T> {
    name: String,
    value: T,
}

#[derive(Serialize)]
struct CrewShown {
    kind: String,
    workers: u64,
    factor: f64,
    sharing: f64,
}

#[derive(Serialize)]
struct Condition {
    place: Option<String>,
    share: String,
    is_guess: bool,
}

#[derive(Serialize)]
struct BestShown {
    time: u64,
    efficiency: Option<u64>,
}

impl Shown {
    /// Everything that was predicted.
    pub fn of(outlook: &Outlook) -> Shown {
        let analysis = outlook.estimator.analysis();
        let contended = analysis.contended.iter().map(|(resource, load)| (resource.to_string(), load.to_string()));
        let best = outlook.sweeps().first().and_then(|sweep| outlook.best(sweep));
        let condition = |share: &sintonia_pamela::compile::Share| Condition {
            place: share.place.clone(),
            share: share.share.to_string(),
            is_guess: share.is_guess,
        };
        Shown {
            formula: super::screen::formula(outlook),
            unit: "s",
            predictions: outlook.rows.iter().map(prediction).collect(),
            best: best.map(|Best { time, efficiency }| BestShown { time, efficiency }),
            expressions: std::iter::once(("no contention".to_owned(), analysis.free.to_string())).chain(contended).collect(),
            conditions: analysis.shares.iter().map(condition).collect(),
            speedup_base: outlook.base,
        }
    }
}

fn prediction(row: &Row) -> Prediction {
    let (estimate, efficiency) = (&row.estimate, row.efficiency());
    let crew = |crew: &Crew| CrewShown { kind: crew.kind.clone(), workers: crew.workers, factor: crew.factor, sharing: crew.sharing() };
    Prediction {
        procs: row.processes,
        params: row.parameters.clone(),
        seconds: estimate.seconds,
        bounds: estimate.bounds,
        speedup: row.speedup[1],
        speedup_between: [row.speedup[0], row.speedup[2]],
        efficiency: efficiency[1],
        efficiency_between: [efficiency[0], efficiency[2]],
        rules: estimate.rules.to_string(),
        is_sampled: estimate.is_sampled,
        terms: estimate.terms.iter().map(|(rule, value)| Named { name: rule.to_string(), value: *value }).collect(),
        shares: estimate.shares.iter().map(|(name, value)| Named { name: name.clone(), value: *value }).collect(),
        workers: estimate.team.0.iter().map(crew).collect(),
    }
}
