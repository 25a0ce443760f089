//! Readers and writers for the files of other tools.
//!
//! Each public module knows one format. Traces are exported and imported as OTF2 (Score-P, Scalasca, Vampir: [`otf2`]) and Paraver
//! ([`paraver`]); timelines ([`perfetto`], [`chrome`]), tables ([`parquet`], [`csv`]) and profiles of sampled stacks ([`speedscope`],
//! [`collapsed`], [`pprof`], [`firefox`]) are export only. Simulator input is exported, and imported for replay ([`goal`], [`dimemas`],
//! [`smpi`]). Communication graphs are exchanged with partitioners ([`metis`]) and GraphViz ([`dot`]).

#![forbid(unsafe_code)]

mod atomic_output;
mod call_columns;
pub mod chrome;
pub mod collapsed;
pub mod csv;
pub mod dimemas;
pub mod dot;
mod error;
#[cfg(test)]
mod example;
mod exported_calls;
pub mod firefox;
mod flows;
pub mod goal;
mod graph;
mod host_metadata;
mod import;
pub mod metis;
pub mod otf2;
pub mod paraver;
pub mod parquet;
pub mod perfetto;
pub mod pprof;
mod protobuf;
mod sampled_stacks;
pub mod sim_trace;
mod single_file;
pub mod smpi;
pub mod speedscope;
mod timeline;

pub use atomic_output::ExportSummary;
pub use error::{Error, FilePosition};
pub use graph::{WeightedEdge, WeightedGraph};
pub use import::{ImportSummary, NANOSECOND_CLOCK, StagedRecording, import};
pub use single_file::open_device;
