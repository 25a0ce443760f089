//! Running what is otherwise predicted: an application of batches of tasks, by a coordinator and workers.
//!
//! The application is PASL with Java. Workers are Java virtual machines that connect to the coordinator over TCP ([`protocol`]) and hold its token; who gets which
//! task is decided as the system JoiN does it ([`allocation`]), and who dies or hangs is done without.

pub mod allocation;
mod coordinator;
mod echo;
mod error;
mod jdk;
mod launch;
mod outcome;
mod plan;
pub mod protocol;
mod value;

pub use allocation::Policy;
pub use coordinator::{Options, run};
pub use echo::round_trips;
pub use error::Error;
pub use jdk::Jdk;
pub use launch::{TOKEN, be_worker};
pub use outcome::{BatchOutcome, Outcome, WorkerOutcome};
pub use value::Value;
