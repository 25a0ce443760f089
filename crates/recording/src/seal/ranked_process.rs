//! A process with its place in the recording: what translation, clocks and communicators need to know of it.

use crate::seal::process::ProcessDefinitions;
use crate::seal::raw_process::RawProcess;

/// A process with its rank in the recording.
#[derive(Clone, Copy)]
pub(super) struct RankedProcess<'a> {
    /// Its rank in the recording.
    pub rank: u32,
    /// Index of its world in the group.
    pub world: usize,
    /// Rank in the recording of the first process of its world.
    pub first: u32,
    /// Size of its world.
    pub size: u32,
    /// Its raw data.
    pub raw: &'a RawProcess,
}

impl<'a> RankedProcess<'a> {
    /// Its definitions.
    pub(super) fn process(&self) -> &'a ProcessDefinitions {
        &self.raw.process
    }
}
