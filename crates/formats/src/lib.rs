//! Files that other programs read.
//!
//! What Sintonia finds out should not stay inside it, and what other tools recorded should get its report. Each module here knows one
//! format: [`metis`] writes graphs for partitioners, [`dot`] for drawing, [`otf2`] writes and reads the traces of Score-P, Scalasca and
//! Vampir.

mod arrows;
pub mod chrome;
mod columns;
pub mod csv;
pub mod dot;
mod error;
#[cfg(test)]
mod example;
pub mod goal;
mod graph;
mod import;
pub mod metis;
pub mod otf2;
pub mod paraver;
pub mod parquet;
pub mod perfetto;
pub mod program_graph;
mod rows;
mod single;
mod svg;
mod timeline;
mod written;

pub use error::{Error, Place};
pub use graph::{Edge, Graph};
pub use import::{Imported, import};
pub use written::Written;
