//! Benchmarks the machine at hand.
//!
//! The processes that a launcher started run [`run_in_launch`]: rank 0 leads, the others follow its commands. Results go to standard output as lines,
//! because that is the only channel out of a job that every launcher provides. The process that started the launcher parses these lines
//! ([`BenchRecord::parse`]) and, after several launches, assembles a machine from them ([`assemble`]).

mod assemble;
mod bench_record;
mod binding;
mod clock;
mod collective_growth;
mod collectives;
mod command;
mod compute;
mod contradiction;
mod core_wait;
mod date;
mod follower;
mod host_use;
pub mod java;
mod launch;
mod leader;
mod local_machine;
mod memory;
mod memory_schedule;
mod message_sizes;
mod message_timer;
mod messages;
mod page_aligned;
mod pass_plan;
mod protocol_threshold;
mod repetitions;
mod sample;
mod settings;
mod shared_link;

use std::io::Write;

use sintonia_mpi::{CommWorld, WorldError};

pub use assemble::{LaunchMeasurements, NothingMeasured, assemble, implausible};
pub use bench_record::BenchRecord;
pub use binding::ProcessBinding;
pub use date::today;
pub use host_use::HostUse;
pub use local_machine::{UnknownHost, local_machine, local_node_index};
pub use protocol_threshold::{ProtocolThresholds, SizeLimit};
pub use sample::{BenchQuantity, BenchSample, CostMode};
pub use settings::{BenchSettings, BenchSettingsError};

/// Why a benchmark inside a launch ended early.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// MPI failed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Results cannot be written.
    #[error("results cannot be written: {0}")]
    Output(#[from] std::io::Error),
    /// Two processes disagree about the protocol.
    #[error("protocol error between processes, possibly of different versions of Sintonia: {0}")]
    Protocol(#[from] serde_json::Error),
}

/// Runs the benchmark together with the other processes; rank 0 writes the records.
pub fn run_in_launch(world: &CommWorld, settings: &BenchSettings, out: &mut dyn Write) -> Result<(), BenchError> {
    let timed = world.timed()?;
    if world.rank() == 0 { launch::lead_launch(&timed, settings, out) } else { follower::follow_leader(&timed) }
}

/// Benchmarks computation and memory only, without MPI.
pub fn run_without_mpi(settings: &BenchSettings, out: &mut dyn Write) -> Result<(), BenchError> {
    launch::measure_node_only(settings, out)
}
