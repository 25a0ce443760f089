//! OTF2, the trace format of Score-P, Scalasca and Vampir.

mod anchor;
mod attributes;
mod buffer;
mod chunks;
mod decoded_call;
mod definition_records;
mod event;
mod id_table;
mod id_translation;
mod local_definitions;
mod properties;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::read;
pub use write::{output_paths, write};
