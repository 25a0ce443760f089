//! Trace-driven simulation of a recorded run on a machine: computation as recorded, communication over another network.

#![forbid(unsafe_code)]

pub mod call_overrides;
pub mod call_times;
pub mod changes;
mod collective_plan;
pub mod core_shortage_note;
pub mod core_waits;
mod costs;
mod deadlock;
pub mod engine;
mod error;
pub mod extrapolation;
pub mod goal;
mod goal_error;
mod interval_bound;
pub mod network;
pub mod platform;
mod replay_recording;
pub mod report;
pub mod scenario;
pub mod schedule;
mod send_mode;
pub mod sweep;
mod transfer_counts;
pub mod what_if;

pub use error::Error;
