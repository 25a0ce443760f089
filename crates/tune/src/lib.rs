//! Tunes a program while it runs, following MATE: events come in, performance functions are evaluated, tuning actions go out.
//!
//! A [`tunlet`] names what it measures and what it may change by names of the source ([`tuning_points`]). On each host a [`collector`] accepts the
//! processes and reads their events from shared memory; a [`host_agent`] resolves names in the program (`bind`), installs
//! hooks, makes changes, and decodes events ([`protocol`]). The hosts form a [`tree`]; at its root the [`analyzer`] passes events to tunlets
//! and has their tuning actions executed.

#![forbid(unsafe_code)]

pub mod analyzer;
mod bind;
mod call_duration;
pub mod collector;
pub mod decision;
pub mod guard;
pub mod host_agent;
mod host_clock;
pub mod host_daemon;
pub mod iteration;
pub mod log_writer;
mod mpi_time;
pub mod mpi_totals;
pub mod process_roles;
pub mod program_list;
pub mod protocol;
pub mod schedule;
mod script;
pub mod statistics;
pub mod tree;
pub mod tuning_points;
pub mod tunlet;
pub mod tunlet_file;
pub mod tunlets;
