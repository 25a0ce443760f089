//! What laws say, for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_model::laws::Quantity;
use sintonia_model::laws::tasks::Estimate;
use sintonia_model::predict::Figure;

use super::{Answer, Origin, Row};

/// What the laws say; the first of them at the top, as a model would.
#[derive(Serialize)]
pub struct Shown {
    #[serde(flatten)]
    first: LawShown,
    laws: Vec<LawShown>,
    estimated: Option<Estimated>,
}

#[derive(Clone, Serialize)]
struct LawShown {
    law: &'static str,
    title: &'static str,
    source: String,
    formula: Option<String>,
    formulas: BTreeMap<&'static str, String>,
    predictions: Vec<Prediction>,
    best: Best,
    facts: BTreeMap<&'static str, Figure>,
}

#[derive(Clone, Serialize)]
struct Prediction {
    procs: Option<f64>,
    params: BTreeMap<&'static str, f64>,
    seconds: Option<Figure>,
    latency: Option<Figure>,
    speedup: Option<f64>,
    speedup_between: Option<[f64; 2]>,
    efficiency: Option<f64>,
    efficiency_between: Option<[f64; 2]>,
}

#[derive(Clone, Serialize)]
struct Best {
    time: Option<f64>,
    efficiency: Option<f64>,
}

#[derive(Serialize)]
struct Estimated {
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

impl Shown {
    /// What the laws say.
    pub fn of(answers: &[Answer], origin: &Origin) -> Shown {
        let laws: Vec<LawShown> = answers.iter().map(law).collect();
        let estimated = match origin {
            Origin::Told => None,
            Origin::Recorded(path, farm, found) => Some(Estimated {
                recording: path.clone(),
                master: farm.master,
                workers: farm.workers,
                tasks: found.tasks,
                computing: estimate(&found.computing),
                overhead: estimate(&found.overhead),
                granularity: estimate(&found.granularity),
            }),
        };
        Shown { first: laws[0].clone(), laws, estimated }
    }
}

/// An estimate as lowest, middle, highest; what is infinite or not known has no number.
fn estimate(estimate: &Estimate) -> [Option<f64>; 3] {
    let finite = |value: f64| value.is_finite().then_some(value);
    [estimate.between.and_then(|(low, _)| finite(low)), finite(estimate.value), estimate.between.and_then(|(_, high)| finite(high))]
}

fn law(answer: &Answer) -> LawShown {
    let fact = |of: Quantity| answer.facts.iter().find(|(other, _)| *other == of).map(|(_, figure)| figure[1]);
    let formulas: BTreeMap<&str, String> = answer.formulas.iter().map(|(of, text)| (of.symbol(), text.clone())).collect();
    LawShown {
        law: answer.law.name,
        title: answer.law.title,
        source: format!("{}: {}", answer.law.source.author, answer.law.source.work),
        formula: formulas.get("T").or(formulas.get("S")).cloned(),
        formulas,
        predictions: answer.rows.iter().map(|row| prediction(answer, row)).collect(),
        best: Best { time: fact(Quantity::BestNodes), efficiency: fact(Quantity::NodesForEfficiency).map(f64::floor) },
        facts: answer.facts.iter().map(|(of, figure)| (of.symbol(), *figure)).collect(),
    }
}

fn prediction(answer: &Answer, row: &Row) -> Prediction {
    let between = |figure: Option<Figure>| figure.map(|[low, _, high]| [low, high]);
    Prediction {
        procs: (answer.along == "N").then_some(row.at),
        params: [(answer.along, row.at)].into(),
        seconds: row.seconds,
        latency: row.latency,
        speedup: row.speedup.map(|figure| figure[1]),
        speedup_between: between(row.speedup),
        efficiency: row.efficiency.map(|figure| figure[1]),
        efficiency_between: between(row.efficiency),
    }
}
