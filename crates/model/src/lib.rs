//! Performance models of programs, fitted to recordings, and predictions from them.

#![forbid(unsafe_code)]

pub mod breakdown;
pub mod compose;
pub mod curve;
mod curve_notes;
mod exact_counts;
pub mod experiment;
pub mod file;
pub mod fitted_term;
pub mod forecast;
pub mod host_effects;
pub mod laws;
pub mod machine_change;
pub mod master_worker;
pub mod model;
pub mod next_run;
pub mod predict;
mod program_version;
pub mod run;
pub mod run_metric;
pub mod run_selection;
pub mod run_totals;
pub mod scaling_curves;
pub mod series;
pub mod study;
pub mod sweep;
mod undisturbed;
pub mod working_set;
