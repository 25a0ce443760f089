//! The PAMELA language: models of parallel programs, compiled to formulas of their time.

#![forbid(unsafe_code)]

mod bindings;
mod bounds;
mod check;
pub mod compile;
pub mod estimate;
pub mod expression;
pub mod model;
pub mod sweep;
pub mod text;
mod vocabulary;
