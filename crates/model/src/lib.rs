//! From recordings to formulas of a program's time, and from formulas to predictions.

pub mod compose;
pub mod curve;
mod exact;
pub mod experiment;
pub mod farm;
pub mod file;
pub mod forecast;
pub mod laws;
pub mod machine;
pub mod made_of;
pub mod model;
pub mod next;
pub mod part;
pub mod predict;
pub mod run;
pub mod sweep;
pub mod table;
pub mod term;
