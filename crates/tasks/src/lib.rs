//! Runs applications of batches of Java tasks with a coordinator and workers, where other crates only predict them.
//!
//! The application is PASL with Java. Workers are Java virtual machines that connect to the coordinator over TCP ([`protocol`]) and
//! authenticate with its token. Tasks are distributed as in the JoiN system ([`allocation`]), and worker failures are survived.

#![forbid(unsafe_code)]

pub mod allocation;
mod child_processes;
mod coordinator;
mod error;
mod jdk;
mod launch;
mod plan;
mod prediction;
pub mod protocol;
mod round_trip;
mod run_outcome;
mod value;

pub use allocation::DistributionPolicy;
pub use coordinator::{CoordinatorOptions, run};
pub use error::Error;
pub use jdk::Jdk;
pub use launch::{TOKEN_ENV, run_worker};
pub use prediction::{RunPrediction, predict_run};
pub use round_trip::measure_round_trips;
pub use run_outcome::{BatchOutcome, TaskRunOutcome, WorkerOutcome};
pub use value::TaskValue;
