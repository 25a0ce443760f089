//! The evaluation of laws as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_model::laws::task_times::MeanEstimate;
use sintonia_model::laws::{LawAnswer, LawQuantity, LawRow};
use sintonia_model::predict::EstimateRange;

use super::ValueOrigin;

/// The answers of the laws; the first at the top level, like a model's.
#[derive(Serialize)]
pub(super) struct LawAnswersJson {
    #[serde(flatten)]
    first: LawAnswerJson,
    laws: Vec<LawAnswerJson>,
    estimated: Option<TaskEstimateJson>,
}

#[derive(Clone, Serialize)]
struct LawAnswerJson {
    law: &'static str,
    title: &'static str,
    source: String,
    formula: Option<String>,
    formulas: BTreeMap<&'static str, String>,
    predictions: Vec<LawPredictionJson>,
    best: LawBestJson,
    facts: BTreeMap<&'static str, EstimateRange>,
}

#[derive(Clone, Serialize)]
struct LawPredictionJson {
    procs: Option<f64>,
    params: BTreeMap<&'static str, f64>,
    seconds: Option<EstimateRange>,
    latency: Option<EstimateRange>,
    speedup: Option<f64>,
    speedup_between: Option<[f64; 2]>,
    efficiency: Option<f64>,
    efficiency_between: Option<[f64; 2]>,
}

#[derive(Clone, Serialize)]
struct LawBestJson {
    time: Option<f64>,
    efficiency: Option<f64>,
}

#[derive(Serialize)]
struct TaskEstimateJson {
    recording: String,
    master: u32,
    workers: usize,
    tasks: u64,
    #[serde(rename = "R")]
    computing: [Option<f64>; 3],
    #[serde(rename = "C")]
    overhead: [Option<f64>; 3],
    #[serde(rename = "G")]
    granularity: [Option<f64>; 3],
}

impl LawAnswersJson {
    /// The answers of the laws.
    pub(super) fn new(answers: &[LawAnswer], origin: &ValueOrigin) -> LawAnswersJson {
        let laws: Vec<LawAnswerJson> = answers.iter().map(answer_json).collect();
        let estimated = match origin {
            ValueOrigin::Given => None,
            ValueOrigin::Recorded(path, master_worker, found) => Some(TaskEstimateJson {
                recording: path.clone(),
                master: master_worker.master,
                workers: master_worker.workers,
                tasks: found.tasks,
                computing: estimate_json(&found.computing),
                overhead: estimate_json(&found.overhead),
                granularity: estimate_json(&found.granularity),
            }),
        };
        LawAnswersJson { first: laws[0].clone(), laws, estimated }
    }
}

/// An estimate as low, middle, high; infinite or unknown values are null.
fn estimate_json(estimate: &MeanEstimate) -> [Option<f64>; 3] {
    let finite = |value: f64| value.is_finite().then_some(value);
    [estimate.interval.and_then(|(low, _)| finite(low)), finite(estimate.value), estimate.interval.and_then(|(_, high)| finite(high))]
}

fn answer_json(answer: &LawAnswer) -> LawAnswerJson {
    let fact = |of: LawQuantity| answer.facts.iter().find(|(other, _)| *other == of).map(|(_, figure)| figure[1]);
    let formulas: BTreeMap<&str, String> = answer.formulas.iter().map(|(of, text)| (of.symbol(), text.clone())).collect();
    LawAnswerJson {
        law: answer.law.name,
        title: answer.law.title,
        source: format!("{}: {}", answer.law.source.author, answer.law.source.work),
        formula: formulas.get("T").or(formulas.get("S")).cloned(),
        formulas,
        predictions: answer.rows.iter().map(|row| prediction_json(answer, row)).collect(),
        best: LawBestJson { time: fact(LawQuantity::BestNodes), efficiency: fact(LawQuantity::NodesForEfficiency).map(f64::floor) },
        facts: answer.facts.iter().map(|(of, figure)| (of.symbol(), *figure)).collect(),
    }
}

fn prediction_json(answer: &LawAnswer, row: &LawRow) -> LawPredictionJson {
    let between = |figure: Option<EstimateRange>| figure.map(|[low, _, high]| [low, high]);
    LawPredictionJson {
        procs: (answer.variable == "N").then_some(row.at),
        params: [(answer.variable, row.at)].into(),
        seconds: row.seconds,
        latency: row.latency,
        speedup: row.speedup.map(|figure| figure[1]),
        speedup_between: between(row.speedup),
        efficiency: row.efficiency.map(|figure| figure[1]),
        efficiency_between: between(row.efficiency),
    }
}
