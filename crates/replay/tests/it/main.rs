//! Replays of small recordings.

mod case;
mod collective_waits;
mod core_waits;
mod more_ranks;
mod own_network;
mod traces;
