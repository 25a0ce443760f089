//! The recording of an MPI run on disk.
//!
//! While the program runs, the probe writes [`raw`] blocks and [`definitions`]; afterwards they are sealed into compact files that
//! everything else reads as a table of calls ([`Recording`]). Nothing outside this crate looks into the files.

pub mod definitions;
pub mod raw;

#[cfg(feature = "reader")]
pub mod header;
#[cfg(feature = "reader")]
pub mod table;
