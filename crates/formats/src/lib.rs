//! Files that other programs read.
//!
//! What Sintonia finds out should not stay inside it. Each module here knows one format and nothing of recordings: [`metis`] writes
//! graphs for partitioners, [`dot`] for drawing.

pub mod dot;
mod graph;
pub mod metis;

pub use graph::{Edge, Graph};
