//! OTF2, the trace format of Score-P, Scalasca and Vampir.

mod anchor;
mod attributes;
mod bytes;
mod chunks;
mod definition;
mod event;
mod facts;
mod local;
mod meaning;
mod read;
mod table;
mod terms;
#[cfg(test)]
mod tests;
mod write;

pub use read::read;
pub use write::{files, write};
