//! What came of a run, as one JSON object.

use serde_json::{Value as Json, json};
use sintonia_tasks::{BatchOutcome, Outcome, Value, WorkerOutcome};

use super::prediction::Prediction;

pub fn outcome(outcome: &Outcome, prediction: Option<&Prediction>) -> Json {
    let parameters: serde_json::Map<String, Json> = outcome.parameters.iter().map(|(name, value)| (name.clone(), number(value))).collect();
    json!({
        "application": outcome.application,
        "parameters": parameters,
        "seconds": outcome.seconds,
        "predicted_seconds": prediction.and_then(|prediction| prediction.as_ref().ok()),
        "prediction_problem": prediction.and_then(|prediction| prediction.as_ref().err()),
        "batches": outcome.batches.iter().map(batch).collect::<Vec<_>>(),
        "workers": outcome.workers.iter().map(worker).collect::<Vec<_>>(),
    })
}

/// A number as JSON can hold it, or its text.
fn number(text: &str) -> Json {
    text.parse::<serde_json::Number>().map_or_else(|_| text.into(), Json::Number)
}

fn batch(batch: &BatchOutcome) -> Json {
    json!({
        "name": batch.name,
        "tasks": batch.tasks,
        "seconds": batch.seconds,
        "busy_seconds": batch.busy_seconds,
        "results": batch.results.as_ref().map(|results| results.iter().map(value).collect::<Vec<_>>()),
    })
}

fn worker(worker: &WorkerOutcome) -> Json {
    json!({
        "host": worker.host,
        "process": worker.process,
        "factor": worker.factor,
        "tasks": worker.tasks,
        "replicas": worker.replicas,
        "busy_seconds": worker.busy_seconds,
        "lost": worker.lost,
    })
}

fn value(value: &Value) -> Json {
    match value {
        Value::Nothing => Json::Null,
        Value::Int(one) => json!(one),
        Value::Long(one) => json!(one),
        Value::Double(one) | Value::Number(_, one) => json!(one),
        Value::Ints(all) => json!(all),
        Value::Longs(all) => json!(all),
        Value::Doubles(all) => json!(all),
        Value::List(all) => all.iter().map(self::value).collect(),
    }
}
