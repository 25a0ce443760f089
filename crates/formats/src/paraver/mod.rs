//! Paraver: the traces of BSC's tools.
//!
//! A trace is three files of text: `NAME.prv` with what happened, in the order of time; `NAME.pcf` with the names of numbers; `NAME.row`
//! with the names of processes and hosts. [`write`] makes them so that configuration files for Extrae's traces work on them, [`read`]
//! understands what Extrae and others write.

mod call;
mod callers;
mod communicators;
mod entry;
mod events;
mod export;
mod header;
mod import;
mod labels;
mod layout;
mod lines;
mod messages;
mod names;
mod process;
mod rank;
mod requests;
mod sites;
mod sort;
mod survey;
mod text;

#[cfg(test)]
mod tests;

pub use export::{files, write};
pub use import::read;
