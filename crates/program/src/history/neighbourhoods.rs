//! Who needs whom in the collective operations of a neighbourhood.
//!
//! In a topology a member needs its sources only, so how long it waits and what an ideal network would make of it depend on them, not on
//! the whole group.

use std::collections::HashMap;

use sintonia_recording::Recording;
use sintonia_recording::deed::Purpose;

/// The members of a communicator with a topology, by their places in its group.
#[derive(Debug, Default)]
pub struct Neighbourhood {
    places: HashMap<u32, u32>,
    sources: HashMap<u32, Vec<u32>>,
}

impl Neighbourhood {
    /// That of a communicator; empty if it has no topology, or the recording does not tell.
    pub fn of(recording: &Recording, communicator: u32) -> Neighbourhood {
        let members = recording.members(communicator).iter().enumerate();
        let places: HashMap<u32, u32> = members.filter_map(|(place, rank)| Some((u32::try_from(*rank).ok()?, place as u32))).collect();
        let sources = |rank: &u32| {
            let ranks = recording.neighbours(communicator, *rank)?.sources.iter().filter_map(|source| u32::try_from(*source).ok());
            let mut sources: Vec<u32> = ranks.filter_map(|source| places.get(&source).copied()).collect();
            sources.sort_unstable();
            sources.dedup();
            Some((*rank, sources))
        };
        let sources = places.keys().filter_map(sources).collect();
        Neighbourhood { places, sources }
    }

    /// The place of a rank.
    pub fn place(&self, rank: u32) -> u32 {
        self.places.get(&rank).copied().unwrap_or(rank)
    }

    /// The places of those that send to a rank, each once.
    pub fn sources(&self, rank: u32) -> &[u32] {
        self.sources.get(&rank).map_or(&[], Vec::as_slice)
    }
}

/// Whether the members of an operation need their neighbours only.
pub fn is_among_neighbours(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Collective(pattern) if pattern.is_among_neighbours())
}
