//! Paraver traces of BSC's tools.
//!
//! A trace consists of three text files: `NAME.prv` with the records in time order; `NAME.pcf` with the labels of event types and values;
//! `NAME.row` with the names of resources. Crate `sintonia-paraver` knows the format; this module knows what a recording is in its terms. [`write`] produces them so that configuration files for Extrae's traces apply; [`read`]
//! understands the traces of Extrae and others.

mod call_sites;
mod caller_labels;
mod communicators;
mod event_types;
mod export;
mod external_sort;
mod import;
mod label_files;
mod label_parser;
mod message_matching;
mod process_import;
mod rank_records;
mod request_recovery;
mod resource_model;
mod sort_entry;
mod trace_call;
mod trace_scan;

#[cfg(test)]
mod tests;

pub use export::{output_paths, write};
pub use import::read;
