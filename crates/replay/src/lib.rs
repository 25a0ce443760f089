//! A recorded run simulated on a machine: its computation as it was, its messages over another network.

pub mod collective;
mod error;
pub mod network;
pub mod schedule;

pub use error::Error;
