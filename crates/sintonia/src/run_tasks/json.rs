//! The outcome of a run as JSON.

use serde_json::{Value as Json, json};
use sintonia_tasks::{BatchOutcome, RunPrediction, TaskRunOutcome, TaskValue, WorkerOutcome};

pub(super) fn outcome_json(outcome: &TaskRunOutcome, prediction: Option<&RunPrediction>) -> Json {
    let parameters: serde_json::Map<String, Json> =
        outcome.parameters.iter().map(|(name, value)| (name.clone(), number_json(value))).collect();
    json!({
        "application": outcome.application,
        "parameters": parameters,
        "seconds": outcome.seconds,
        "predicted_seconds": prediction.and_then(|prediction| prediction.as_ref().ok()),
        "prediction_problem": prediction.and_then(|prediction| prediction.as_ref().err()),
        "batches": outcome.batches.iter().map(batch_json).collect::<Vec<_>>(),
        "workers": outcome.workers.iter().map(worker_json).collect::<Vec<_>>(),
    })
}

/// A number as JSON, or its text.
fn number_json(text: &str) -> Json {
    text.parse::<serde_json::Number>().map_or_else(|_| text.into(), Json::Number)
}

fn batch_json(batch: &BatchOutcome) -> Json {
    json!({
        "name": batch.name,
        "tasks": batch.tasks,
        "seconds": batch.seconds,
        "busy_seconds": batch.busy_seconds,
        "results": batch.results.as_ref().map(|results| results.iter().map(value_json).collect::<Vec<_>>()),
    })
}

fn worker_json(worker: &WorkerOutcome) -> Json {
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

fn value_json(value: &TaskValue) -> Json {
    match value {
        TaskValue::Void => Json::Null,
        TaskValue::Int(one) => json!(one),
        TaskValue::Long(one) => json!(one),
        TaskValue::Double(one) | TaskValue::Number(_, one) => json!(one),
        TaskValue::Ints(all) => json!(all),
        TaskValue::Longs(all) => json!(all),
        TaskValue::Doubles(all) => json!(all),
        TaskValue::List(all) => all.iter().map(self::value_json).collect(),
    }
}
