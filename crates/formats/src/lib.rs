//! Files that other programs read.
//!
//! What Sintonia finds out should not stay inside it, and what other tools recorded should get its report. Each public module knows one
//! format. Traces go out and come in as those of Score-P, Scalasca and Vampir ([`otf2`]) and of BSC's tools ([`paraver`]); for timelines
//! ([`perfetto`], [`chrome`]) and tables ([`parquet`], [`csv`]) they only go out. What simulators play goes out and comes in to be
//! replayed ([`goal`], [`dimemas`], [`smpi`]). Graphs go to partitioners and come from their files ([`metis`]) and, like the program itself
//! ([`program_graph`]), go into drawings ([`dot`], SVG).

mod arrows;
pub mod chrome;
mod columns;
pub mod csv;
pub mod dimemas;
pub mod dot;
mod error;
#[cfg(test)]
mod example;
pub mod goal;
mod graph;
pub mod heat_map;
mod import;
pub mod metis;
pub mod otf2;
pub mod paraver;
pub mod parquet;
pub mod perfetto;
pub mod plot;
pub mod program_graph;
mod requests;
mod rows;
pub mod script;
mod single;
pub mod smpi;
mod svg;
mod timeline;
mod written;

pub use error::{Error, Place};
pub use graph::{Edge, Graph};
pub use import::{CLOCK, Imported, NewRecording, import};
pub use single::open_device;
pub use written::Written;
