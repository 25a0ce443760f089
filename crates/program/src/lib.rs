//! What a recording says about the program.
//!
//! A recording lists calls. This crate derives per-rank totals ([`RankActivity`]), messages between ranks ([`MessageFlow`]) and the
//! [`CommunicationGraph`], the program with its loops, roles and phases ([`graph`]), and the dependencies between calls of different ranks
//! ([`history`]), and where its threads spent their time ([`samples`]). Several processes can share that work ([`process_group`]).

#![forbid(unsafe_code)]

mod activity;
mod collective;
mod communication;
pub mod core_shortage;
pub mod graph;
pub mod history;
mod intercomm_collective;
mod matrix;
mod message_flow;
pub mod process_group;
pub mod region;
pub mod samples;
#[cfg(feature = "testing")]
pub mod testing;
mod thread_time;
mod traffic_key;

pub use activity::{RankActivity, TimeSplit};
pub use communication::{CommEdge, CommunicationGraph, OmittedTraffic};
pub use core_shortage::CoreShortage;
pub use matrix::{CommunicationMatrix, MatrixCell, RankTraffic};
pub use message_flow::MessageFlow;
pub use thread_time::ThreadTime;
pub use traffic_key::{TrafficKey, TrafficSums};
