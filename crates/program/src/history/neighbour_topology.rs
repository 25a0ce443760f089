//! Dependencies of neighbourhood collectives.
//!
//! A member depends on its sources only, not on the whole communicator, and so do its wait time and its completion on an ideal network.

use rustc_hash::FxHashMap;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::GroupOp;

/// The neighbours of the members of a communicator with a topology.
#[derive(Debug, Default)]
pub(super) struct NeighbourTopology {
    comm_ranks: FxHashMap<u32, u32>,
    sources: FxHashMap<u32, Vec<u32>>,
}

impl NeighbourTopology {
    /// The topology of a communicator; empty if it has none or it was not recorded.
    pub(super) fn from_communicator(recording: &Recording, communicator: u32) -> NeighbourTopology {
        let members = recording.members(communicator).iter().enumerate();
        let comm_ranks: FxHashMap<u32, u32> =
            members.filter_map(|(index, rank)| Some((u32::try_from(*rank).ok()?, index as u32))).collect();
        let sources = |rank: &u32| {
            let ranks = recording.neighbours(communicator, *rank)?.sources.iter().filter_map(|source| u32::try_from(*source).ok());
            let mut sources: Vec<u32> = ranks.filter_map(|source| comm_ranks.get(&source).copied()).collect();
            sources.sort_unstable();
            sources.dedup();
            Some((*rank, sources))
        };
        let sources = comm_ranks.keys().filter_map(sources).collect();
        NeighbourTopology { comm_ranks, sources }
    }

    /// The communicator rank of a world rank.
    pub(super) fn comm_rank(&self, rank: u32) -> u32 {
        self.comm_ranks.get(&rank).copied().unwrap_or(rank)
    }

    /// The communicator ranks that send to a rank, each once.
    pub(super) fn sources(&self, rank: u32) -> &[u32] {
        self.sources.get(&rank).map_or(&[], Vec::as_slice)
    }
}

/// Whether the members depend on their neighbours only.
pub fn is_neighbourhood_op(op: GroupOp) -> bool {
    matches!(op, GroupOp::Collective(pattern) if pattern.is_neighborhood())
}
