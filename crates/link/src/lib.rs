//! The messages between the probe in each process and `sintonia record`, while a program runs.
//!
//! Processes on several hosts must talk to each other through MPI to compare their clocks. That is only safe if every one of them is
//! recorded: a process without the probe would never answer, and the others would wait for ever. So each asks `sintonia record` first, which
//! gives all the same answer.

mod addresses;
pub mod order;
pub mod ring;
mod roll_call;
pub mod session;

pub use addresses::local_addresses;
pub use roll_call::{Card, RollCall, ask};
