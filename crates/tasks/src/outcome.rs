//! What came of a run.

use crate::Value;

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The name of the application.
    pub application: String,
    /// Its parameters, as text.
    pub parameters: Vec<(String, String)>,
    /// From the moment when all workers were ready to the last result.
    pub seconds: f64,
    /// The batches, in the order of the application.
    pub batches: Vec<BatchOutcome>,
    /// The workers, in the order in which they came.
    pub workers: Vec<WorkerOutcome>,
}

/// What came of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchOutcome {
    /// Its name.
    pub name: String,
    /// How many tasks it has.
    pub tasks: usize,
    /// From its beginning to its last result.
    pub seconds: f64,
    /// The time that its tasks took the workers, the first results only.
    pub busy_seconds: f64,
    /// The results, if no other batch waits for them.
    pub results: Option<Vec<Value>>,
}

/// What a worker did.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerOutcome {
    /// Where it ran.
    pub host: String,
    /// Its process there.
    pub process: u64,
    /// How fast it is, as a share of the fastest.
    pub factor: f64,
    /// How many results it gave that counted.
    pub tasks: usize,
    /// How many replicas it was given.
    pub replicas: usize,
    /// How long it computed.
    pub busy_seconds: f64,
    /// Why it was given up, if it was.
    pub lost: Option<String>,
}
