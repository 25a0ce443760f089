//! From measurements to formulas.
//!
//! Pure numerics: this crate knows nothing of MPI or of recordings. [`sample`] sums up repetitions, [`pieces`] fits straight lines by
//! pieces (what a network does to messages of growing size), [`scaling`] finds how a quantity grows with the parameters of a run, and
//! [`table`] reads measurements from files. Everything comes with intervals, and the same numbers give the same results on every machine.

pub mod measurements;
pub mod pieces;
mod random;
pub mod sample;
pub mod scaling;
mod stats;
pub mod table;

pub use random::Random;
pub use stats::student_quantile;
