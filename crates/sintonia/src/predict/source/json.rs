//! Predictions from source as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_model::predict::EstimateRange;
use sintonia_pamela::estimate::WorkerGroup;

use super::{BestOfSweep, SourcePredictionRow, SourcePredictions};

/// All predictions.
#[derive(Serialize)]
pub(super) struct SourcePredictionsJson {
    formula: String,
    unit: &'static str,
    predictions: Vec<SourcePredictionJson>,
    /// Numbers of processes to choose, for the first combination of the other parameters.
    best: Option<BestOfSweepJson>,
    expressions: BTreeMap<String, String>,
    conditions: Vec<ConditionJson>,
    speedup_base: u64,
}

#[derive(Serialize)]
struct SourcePredictionJson {
    procs: u64,
    params: BTreeMap<String, f64>,
    seconds: EstimateRange,
    bounds: [f64; 2],
    speedup: f64,
    speedup_between: [f64; 2],
    efficiency: f64,
    efficiency_between: [f64; 2],
    rules: String,
    /// Whether the bounds assume that tasks outside the sample are like those in it.
    is_sampled: bool,
    terms: Vec<NamedValueJson<EstimateRange>>,
    shares: Vec<NamedValueJson<f64>>,
    workers: Vec<WorkerGroupJson>,
}

#[derive(Serialize)]
struct NamedValueJson<T> {
    name: String,
    value: T,
}

#[derive(Serialize)]
struct WorkerGroupJson {
    kind: String,
    workers: u64,
    factor: f64,
    sharing: f64,
}

#[derive(Serialize)]
struct ConditionJson {
    place: Option<String>,
    share: String,
    is_guess: bool,
}

#[derive(Serialize)]
struct BestOfSweepJson {
    time: u64,
    efficiency: Option<u64>,
}

impl SourcePredictionsJson {
    /// All predictions.
    pub(super) fn new(predictions: &SourcePredictions) -> SourcePredictionsJson {
        let analysis = predictions.estimator.analysis();
        let contended = analysis.contended.iter().map(|(resource, load)| (resource.to_string(), load.to_string()));
        let best = predictions.sweeps().first().and_then(|sweep| predictions.best(sweep));
        let condition = |share: &sintonia_pamela::compile::BranchShare| ConditionJson {
            place: share.place.clone(),
            share: share.share.to_string(),
            is_guess: share.is_guess,
        };
        SourcePredictionsJson {
            formula: super::display::time_formula(predictions),
            unit: "s",
            predictions: predictions.rows.iter().map(prediction_json).collect(),
            best: best.map(|BestOfSweep { time, efficiency }| BestOfSweepJson { time, efficiency }),
            expressions: std::iter::once(("no contention".to_owned(), analysis.contention_free.to_string())).chain(contended).collect(),
            conditions: analysis.shares.iter().map(condition).collect(),
            speedup_base: predictions.speedup_base,
        }
    }
}

fn prediction_json(row: &SourcePredictionRow) -> SourcePredictionJson {
    let (estimate, efficiency) = (&row.estimate, row.efficiency());
    let group = |group: &WorkerGroup| WorkerGroupJson {
        kind: group.node_kind.clone(),
        workers: group.workers,
        factor: group.relative_speed,
        sharing: group.core_sharing(),
    };
    SourcePredictionJson {
        procs: row.processes,
        params: row.parameters.clone(),
        seconds: estimate.seconds,
        bounds: estimate.bounds,
        speedup: row.speedup[1],
        speedup_between: [row.speedup[0], row.speedup[2]],
        efficiency: efficiency[1],
        efficiency_between: [efficiency[0], efficiency[2]],
        rules: estimate.limiting_term.to_string(),
        is_sampled: estimate.is_sampled,
        terms: estimate.terms.iter().map(|(rule, value)| NamedValueJson { name: rule.to_string(), value: *value }).collect(),
        shares: estimate.shares.iter().map(|(name, value)| NamedValueJson { name: name.clone(), value: *value }).collect(),
        workers: estimate.team.0.iter().map(group).collect(),
    }
}
