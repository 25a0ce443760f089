//! What is said between a program and the command while the program runs, and who may say it.
//!
//! - Are all processes recorded ([`RollCall`])? Processes on several hosts talk to each other through MPI to compare their clocks. That is only
//!   safe if every one of them is recorded: a process without the probe would never answer, and the others would wait for ever. So each
//!   asks `sintonia record` first, which gives all the same answer.
//! - Tuning: what happens in the program lies in memory that both see ([`ring`]); what is to be done there is said ([`order`]) in a
//!   conversation that only holders of the run's secret can take part in ([`session`], [`seal`]).

mod addresses;
pub mod order;
pub mod ring;
mod roll_call;
pub mod seal;
pub mod session;

pub use addresses::{host_name, local_addresses};
pub use roll_call::{Card, RollCall, ask};
