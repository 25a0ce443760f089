//! Self-scheduling: how a master divides tasks into chunks for its workers.
//!
//! A master follows a few numbers ([`ChunkingParameters`]); the rules of the literature on self-scheduling choose them ([`SchedulingRule`]); and a
//! choice can be simulated before it is made ([`simulate`]).

mod rule;
mod simulate;

pub use rule::{SchedulingRule, TaskStatistics, WorkerStats, dynamic_factors};
pub use simulate::{SchedulingScenario, SimulatedIteration, TaskCosts, simulate};
pub use sintonia_link::chunking::ChunkingParameters;
