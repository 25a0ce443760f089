//! PASL, Java and C programs, compiled to PAMELA models.
//!
//! Readers turn the text of a language into [`routine::Program`]; one [`analysis`] turns routines into the terms of a model, with loops counted
//! and conditions weighed as formulas. [`compile`] chooses the reader by the ending of the files.

pub mod analysis;
pub mod c;
mod compile;
mod error;
mod file;
mod generate;
pub mod java;
mod mistake;
mod mpi;
mod names;
pub mod pasl;
pub mod place;
pub mod recorded;
pub mod routine;

pub use compile::{Compiled, Note, Options, compile, compile_texts, compile_with};
pub use error::{Error, Wrong};
pub use file::Text;
