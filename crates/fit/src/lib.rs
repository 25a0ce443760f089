//! Fitting formulas to measurements.
//!
//! Pure numerics: this crate knows nothing of MPI or of recordings. [`sample`] summarises repetitions, [`piecewise`] fits piecewise linear
//! functions (network time over message size), [`scaling`] models how a quantity grows with the parameters of a run, and [`table`] reads
//! measurements from files. Every result has an interval, and the same input gives the same result on every machine.

#![forbid(unsafe_code)]

pub mod linear_form;
pub mod measurements;
pub mod piecewise;
pub mod quantity_kind;
pub mod sample;
pub mod scaling;
mod split_mix;
mod stats;
pub mod table;

pub use split_mix::SplitMix64;
pub use stats::student_quantile;
