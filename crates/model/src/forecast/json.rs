//! A prediction as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Forecast, PredictionRow, SweepForecast};
use crate::breakdown::{TimeComponent, breakdown};
use crate::model::PerformanceModel;
use crate::predict::EstimateRange;
use crate::working_set::CacheCrossing;

/// All predictions.
#[derive(Serialize)]
pub struct ForecastJson {
    formula: String,
    unit: String,
    predictions: Vec<PredictionJson>,
    /// Numbers of processes to choose, for the first combination of the other parameters.
    best: Option<BestProcessCountJson>,
    /// The same and more for each combination.
    sets: Vec<SweepForecastJson>,
    speedup_base: Option<f64>,
    error_percent: Option<f64>,
    /// By how much waiting for cores lengthened the runs, which the times contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduling: Option<SchedulingJson>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct SchedulingJson {
    mean_percent: f64,
    spread_percent: f64,
}

#[derive(Serialize)]
struct CacheCrossingJson {
    cache: String,
    bytes: u64,
    crossing: &'static str,
    at: BTreeMap<String, f64>,
    slowdown: f64,
}

#[derive(Serialize)]
struct PredictionJson {
    procs: Option<f64>,
    params: BTreeMap<String, f64>,
    seconds: EstimateRange,
    speedup: Option<f64>,
    speedup_between: Option<[f64; 2]>,
    efficiency: Option<f64>,
    efficiency_between: Option<[f64; 2]>,
    cost: Option<EstimateRange>,
    limited_by: Option<String>,
    limited_by_share: Option<f64>,
    times_beyond: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<CacheCrossingJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<ComponentJson>,
}

#[derive(Serialize)]
struct ComponentJson {
    name: String,
    formula: String,
    seconds: EstimateRange,
    is_role: bool,
}

#[derive(Clone, Serialize)]
struct BestProcessCountJson {
    time: f64,
    time_between: [f64; 2],
    still_falls: bool,
    efficiency: Option<f64>,
    efficiency_between: Option<[f64; 2]>,
    still_enough: bool,
}

#[derive(Serialize)]
struct SweepForecastJson {
    params: BTreeMap<String, f64>,
    best: Option<BestProcessCountJson>,
    crossings: Vec<CrossoverJson>,
}

#[derive(Serialize)]
struct CrossoverJson {
    parameter: String,
    at: f64,
    between: [f64; 2],
    below: String,
    above: String,
}

impl ForecastJson {
    /// All predictions; with the components of each, if requested.
    pub fn new(forecast: &Forecast, explain: bool) -> ForecastJson {
        let model = forecast.model;
        let sets: Vec<SweepForecastJson> = forecast.sweeps.iter().map(|set| sweep_json(model, set)).collect();
        ForecastJson {
            formula: model.formula().to_string(),
            unit: model.quantity.unit.clone(),
            predictions: forecast.rows.iter().map(|row| prediction_json(forecast, row, explain)).collect(),
            best: sets.iter().find_map(|set| set.best.clone()),
            sets,
            speedup_base: forecast.speedup_base,
            error_percent: model.error_percent(),
            scheduling: model
                .host_effects
                .scheduling
                .map(|time| SchedulingJson { mean_percent: time.mean_percent, spread_percent: time.spread_percent }),
            notes: model.notes.clone(),
        }
    }
}

fn interval_bounds([low, _, high]: EstimateRange) -> [f64; 2] {
    [low, high]
}

fn prediction_json(forecast: &Forecast, row: &PredictionRow, explain: bool) -> PredictionJson {
    let terms = if explain { breakdown(forecast.model, forecast.predictor, &row.setting) } else { Vec::new() };
    let shown =
        |one: TimeComponent| ComponentJson { name: one.label().to_owned(), seconds: one.value, is_role: one.is_role, formula: one.formula };
    PredictionJson {
        procs: row.processes,
        params: named_values(forecast.model, &row.setting),
        seconds: row.seconds,
        speedup: row.speedup.map(|figure| figure[1]),
        speedup_between: row.speedup.map(interval_bounds),
        efficiency: row.efficiency.map(|figure| figure[1]),
        efficiency_between: row.efficiency.map(interval_bounds),
        cost: row.cost,
        limited_by: row.dominant.as_ref().map(|(name, _)| name.clone()),
        limited_by_share: row.dominant.as_ref().map(|(_, share)| *share),
        times_beyond: row.extrapolation,
        caches: row.cache_crossings.iter().map(|crossing| crossing_json(forecast.model, crossing)).collect(),
        terms: terms.into_iter().map(shown).collect(),
    }
}

fn crossing_json(model: &PerformanceModel, crossing: &CacheCrossing) -> CacheCrossingJson {
    CacheCrossingJson {
        cache: crossing.cache.clone(),
        bytes: crossing.bytes,
        crossing: if crossing.is_left { "leaves" } else { "enters" },
        at: named_values(model, &crossing.at),
        slowdown: crossing.slowdown,
    }
}

fn sweep_json(model: &PerformanceModel, set: &SweepForecast) -> SweepForecastJson {
    let changing = &model.parameters[set.sweep.parameter].name;
    let mut params = named_values(model, &set.sweep.base);
    params.retain(|name, _| name != changing);
    let best = set.best.map(|best| BestProcessCountJson {
        time: best.time[1],
        time_between: interval_bounds(best.time),
        still_falls: best.still_falls,
        efficiency: best.efficiency.map(|figure| figure[1]),
        efficiency_between: best.efficiency.map(interval_bounds),
        still_enough: best.still_enough,
    });
    let crossings = set.dominant_ranges.iter().zip(set.dominant_ranges.iter().skip(1)).filter_map(|(below, above)| {
        let until = below.crossover?;
        let (below, above) = (below.name.clone(), above.name.clone());
        Some(CrossoverJson { parameter: changing.clone(), at: until[1], between: interval_bounds(until), below, above })
    });
    SweepForecastJson { params, best, crossings: crossings.collect() }
}

fn named_values(model: &PerformanceModel, setting: &[f64]) -> BTreeMap<String, f64> {
    model.parameter_names().into_iter().zip(setting.iter().copied()).collect()
}
