//! A recorded run simulated on a machine: its computation as it was, its messages over another network.

pub mod case;
pub mod changes;
pub mod collective;
pub mod engine;
mod error;
pub mod goal;
pub mod manners;
pub mod more_ranks;
pub mod network;
pub mod platform;
pub mod schedule;
pub mod sweep;
pub mod what_if;
mod written;

pub use error::Error;
pub use written::Written;
