//! Replays of small recordings.

mod case;
mod more_ranks;
mod own_network;
mod traces;
