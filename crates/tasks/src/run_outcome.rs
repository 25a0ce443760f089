//! Results and statistics of a run.

use crate::TaskValue;

/// Results and statistics of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRunOutcome {
    /// Name of the application.
    pub application: String,
    /// Its parameters, as text.
    pub parameters: Vec<(String, String)>,
    /// From the time all workers were ready to the last result.
    pub seconds: f64,
    /// The batches, in the order of the application.
    pub batches: Vec<BatchOutcome>,
    /// The workers, in the order they connected.
    pub workers: Vec<WorkerOutcome>,
}

/// Results and statistics of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchOutcome {
    /// Name of the batch.
    pub name: String,
    /// Number of tasks.
    pub tasks: usize,
    /// From its start to its last result.
    pub seconds: f64,
    /// Time the workers spent on its tasks, counting first results only.
    pub busy_seconds: f64,
    /// The results, if no other batch depends on them.
    pub results: Option<Vec<TaskValue>>,
}

/// Statistics of a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerOutcome {
    /// Host it ran on.
    pub host: String,
    /// Process ID there.
    pub process: u64,
    /// Speed relative to the fastest worker.
    pub factor: f64,
    /// Number of its results that were used.
    pub tasks: usize,
    /// Number of replicas it was assigned.
    pub replicas: usize,
    /// Time spent computing.
    pub busy_seconds: f64,
    /// Why it was lost, if it was.
    pub lost: Option<String>,
}
