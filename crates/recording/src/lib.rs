//! The recording of an MPI run on disk.
//!
//! While the program runs, the probe writes [`raw`] blocks and [`definitions`]; afterwards they are [sealed](seal::seal) into compact
//! files that everything else reads as a table of calls ([`Recording`]). Nothing outside this crate looks into the files.

pub mod definitions;
pub mod raw;

#[cfg(feature = "reader")]
mod calls;
#[cfg(feature = "reader")]
pub mod deed;
#[cfg(feature = "reader")]
mod error;
#[cfg(feature = "reader")]
pub mod excerpt;
#[cfg(feature = "reader")]
mod hash;
#[cfg(feature = "reader")]
pub mod header;
#[cfg(feature = "reader")]
mod json;
#[cfg(feature = "reader")]
pub mod neighbours;
#[cfg(all(test, feature = "reader"))]
mod random;
#[cfg(feature = "reader")]
mod recording;
#[cfg(feature = "reader")]
mod run;
#[cfg(feature = "reader")]
pub mod seal;
#[cfg(feature = "reader")]
pub mod sealed;
#[cfg(feature = "reader")]
pub mod table;
#[cfg(feature = "reader")]
mod thread;
#[cfg(feature = "reader")]
mod totals;

#[cfg(feature = "reader")]
pub use self::{
    calls::Calls,
    error::Error,
    hash::QuickMap,
    recording::{Incomplete, Recording},
    run::Run,
    thread::{Stroke, ThreadCalls},
};
