//! Simulation of GOAL schedules on a LogGOPS machine, as LogGOPSim does.
//!
//! T. Hoefler, T. Schneider and A. Lumsdaine, *LogGOPSim: simulating large-scale applications in the LogGOPS model* (HPDC 2010): a send
//! occupies its CPU for `o + (n-1)O` and its NIC for `g + (n-1)G`; the first byte arrives `o + L` after the start, and receiving occupies
//! the CPU of the receiver for `o + (n-1)max(O, G)`, whether a receive is posted or not. A message of more than `S` bytes completes at its
//! sender when it is matched; the acknowledgement is free.
//!
//! Simultaneous events are processed in the order in which they became ready, as in LogGOPSim, so results agree to the last digit.
//! Differences: an empty message costs as much as one byte (there: less); a dependency on another CPU of the same rank waits for its end
//! (there: its start); the protocol depends on the size of the message itself (there: sometimes on that of its receive); and more than 16
//! operations of a rank that become ready at once keep their file order (there: the order of an unstable sort).
//!
//! [`OrderedGoal`](crate::schedule::OrderedGoal) replays a schedule in the engine instead, with the order of operations that this simulation finds.

mod cpu_nic_pairs;
mod diagnosis;
mod event;
mod loggps;
mod matching;
mod occupancy;
mod op_queue;
mod order;
mod radix_heap;
mod resources;
mod simulator;

pub use crate::goal_error::{GoalError, GoalOperationRef};
pub use loggps::LogGopsParameters;
pub(crate) use order::{CpuStep, GoalOrder};
pub use simulator::{GoalResult, simulate};

#[cfg(test)]
mod tests;
