//! Measuring the machine that is at hand.
//!
//! The processes that a launcher started run [`inside`]: the first one leads, the others do as they are told, and what was measured goes to
//! standard output, one line after another, because that is the one way out of a job that every launcher provides. Whoever started the
//! launcher reads these lines ([`Line::read`]) and, after several launches, makes a machine of them ([`assemble`]).

mod assemble;
mod clock;
mod compute;
mod follow;
mod growth;
pub mod java;
mod lead;
mod line;
mod memory;
mod messages;
mod order;
mod pair;
mod place;
mod room;
mod sample;
mod settings;
mod sizes;
mod threshold;

use std::io::Write;

use sintonia_mpi::{World, WorldError};

pub use assemble::{Launch, NothingMeasured, assemble, implausible};
pub use line::Line;
pub use place::Place;
pub use sample::{Manner, Quantity, Sample};
pub use settings::{BadSettings, Settings};
pub use threshold::Thresholds;

/// Why a benchmark inside a launcher ended early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The processes cannot talk to each other.
    #[error(transparent)]
    World(#[from] WorldError),
    /// What was measured cannot be handed on.
    #[error("what was measured cannot be written: {0}")]
    Output(#[from] std::io::Error),
    /// A process does not understand another.
    #[error("the processes do not understand each other, as if they were of different versions of Sintonia: {0}")]
    Misunderstood(#[from] serde_json::Error),
}

/// Measures together with the other processes, and writes lines if this is the first of them.
pub fn inside(world: &World, settings: &Settings, out: &mut dyn Write) -> Result<(), Failure> {
    let timed = world.timed()?;
    if world.rank() == 0 { lead::lead(&timed, settings, out) } else { follow::follow(&timed) }
}

/// Measures computation and memory only, without other processes.
pub fn alone(settings: &Settings, out: &mut dyn Write) -> Result<(), Failure> {
    lead::alone(settings, out)
}
