//! Compiler of PASL, Java and C programs to PAMELA models.
//!
//! Front ends lower a language to the [`ir`]; one static [`analysis`] turns routines into the terms of a model, with trip counts and branch
//! probabilities as formulas. [`compile`] selects the front end by file extension.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod c;
mod compile;
mod compiled_model;
mod error;
pub mod file_pos;
mod generate;
pub mod ir;
pub mod java;
mod model_names;
mod mpi;
pub mod pasl;
pub mod recorded_shares;
mod source_file;
mod syntax_error;

pub use compile::{CompileOptions, compile, compile_texts, compile_with};
pub use compiled_model::{CompileNote, CompiledModel};
pub use error::{Error, SourceDiagnostic};
pub use source_file::SourceFile;
