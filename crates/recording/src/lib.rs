//! On-disk format of the recording of an MPI run.
//!
//! While the program runs, the probe writes [`raw`] blocks and [`definitions`]. [Sealing](seal::seal) then turns them into compact files,
//! which all other crates read through [`Recording`] as tables of calls. No other crate depends on the file layout.

pub mod counter_event;
pub mod definitions;
pub mod host;
pub mod raw;

#[cfg(feature = "reader")]
pub mod call_details;
#[cfg(feature = "reader")]
pub mod call_paths;
#[cfg(feature = "reader")]
pub mod call_table;
#[cfg(feature = "reader")]
mod checked_file;
#[cfg(feature = "reader")]
pub mod comm_event;
#[cfg(feature = "reader")]
pub mod counters;
#[cfg(feature = "reader")]
mod descriptor_index;
#[cfg(feature = "reader")]
mod error;
#[cfg(feature = "reader")]
pub mod excerpt;
#[cfg(feature = "reader")]
pub mod file_io;
#[cfg(feature = "reader")]
pub mod header;
#[cfg(feature = "reader")]
mod json;
#[cfg(feature = "reader")]
pub mod neighbours;
#[cfg(feature = "reader")]
pub mod off_cpu;
#[cfg(feature = "reader")]
pub mod openmp;
#[cfg(feature = "reader")]
mod process_calls;
#[cfg(feature = "reader")]
pub mod program_name;
#[cfg(feature = "reader")]
pub mod random_access;
#[cfg(feature = "reader")]
mod recording;
#[cfg(feature = "reader")]
pub mod request_table;
#[cfg(feature = "reader")]
mod restricted_file_io;
#[cfg(feature = "reader")]
mod restricted_recording;
#[cfg(feature = "reader")]
mod run_description;
#[cfg(feature = "reader")]
pub mod samples;
#[cfg(feature = "reader")]
pub mod seal;
#[cfg(feature = "reader")]
pub mod sealed;
#[cfg(feature = "reader")]
mod table_blocks;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "reader")]
mod thread_calls;
#[cfg(feature = "reader")]
mod totals;

#[cfg(feature = "reader")]
pub use self::{
    error::Error,
    process_calls::ProcessCalls,
    recording::{IncompleteReason, Recording},
    run_description::RunDescription,
    table_blocks::TimedCall,
    thread_calls::ThreadCallReader,
};
