//! OTF2, the trace format of Score-P, Scalasca and Vampir: recordings to archives and back.
//!
//! Crate `sintonia-otf2` knows the format; this module knows what a recording is in its terms.

mod attributes;
mod counter_reading;
mod decoded_call;
mod event;
mod id_table;
mod id_translation;
mod properties;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::read;
pub use write::{output_paths, write, write_without_samples};

use sintonia_otf2::reference::SystemTreeNodeRef;

/// Clock resolution of 1 ns, in ticks per second.
const NANOSECOND_RESOLUTION: u64 = 1_000_000_000;
/// The root of the system tree.
const MACHINE_NODE: SystemTreeNodeRef = SystemTreeNodeRef(0);
/// The name of the MPI-IO paradigm.
const MPI_IO: &str = "MPI-IO";
