//! Masters and workers of an earlier run, from the messages of a recording.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_program::{CommEdge, CommunicationGraph};
use sintonia_recording::Recording;

/// A master communicates with at least this share of all other ranks.
const MIN_MASTER_PEERS: f64 = 0.5;
/// A worker exchanges at least this share of its messages with masters.
const MIN_MASTER_MESSAGES: f64 = 0.9;

/// Masters and workers of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessRoles {
    /// Ranks that handed out work.
    pub masters: Vec<u32>,
    /// Ranks that communicated with masters only.
    pub workers: Vec<u32>,
}

impl ProcessRoles {
    /// The roles in a recording.
    pub fn from_recording(path: &Path) -> Result<ProcessRoles, String> {
        let recording = Recording::open(path).map_err(|error| error.to_string())?;
        let graph = CommunicationGraph::from_recording(&recording, false, || ()).map_err(|error| error.to_string())?;
        Ok(ProcessRoles::from_edges(graph.compute_us.len(), &graph.edges))
    }

    /// The roles among ranks with these edges of the communication graph.
    fn from_edges(ranks: usize, edges: &[CommEdge]) -> ProcessRoles {
        let mut peers: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for CommEdge { ranks: [one, other], messages, .. } in edges.iter().filter(|edge| edge.messages > 0) {
            peers.entry(*one).or_default().push((*other, *messages));
            peers.entry(*other).or_default().push((*one, *messages));
        }
        let min_peers = (MIN_MASTER_PEERS * ranks.saturating_sub(1) as f64).max(1.0);
        let hubs: Vec<u32> = peers.iter().filter(|(_, peers)| peers.len() as f64 >= min_peers).map(|(rank, _)| *rank).collect();
        let is_worker = |peers: &Vec<(u32, u64)>| {
            let all: u64 = peers.iter().map(|(_, messages)| messages).sum();
            let with_hubs: u64 = peers.iter().filter(|(peer, _)| hubs.contains(peer)).map(|(_, messages)| messages).sum();
            with_hubs as f64 >= MIN_MASTER_MESSAGES * all as f64
        };
        let workers: Vec<u32> =
            peers.iter().filter(|(rank, peers)| !hubs.contains(rank) && is_worker(peers)).map(|(rank, _)| *rank).collect();
        // If all ranks communicate with all others there is no master.
        if 2 * workers.len() < ranks { ProcessRoles::default() } else { ProcessRoles { masters: hubs, workers } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(one: u32, other: u32) -> CommEdge {
        CommEdge { ranks: [one, other], bytes: 1000, bytes_forward: 500, messages: 10 }
    }

    #[test]
    fn the_centre_of_a_star_is_a_master() {
        let star: Vec<CommEdge> = [0, 1, 3, 4].into_iter().map(|rank| edge(rank.min(2), rank.max(2))).collect();
        assert_eq!(ProcessRoles::from_edges(5, &star), ProcessRoles { masters: vec![2], workers: vec![0, 1, 3, 4] });
    }

    #[test]
    fn a_ring_and_a_complete_graph_have_no_master() {
        let ring: Vec<CommEdge> = (0..6).map(|rank| edge(rank, (rank + 1) % 6)).collect();
        let all: Vec<CommEdge> = (0..6).flat_map(|one| (one + 1..6).map(move |other| edge(one, other))).collect();
        assert_eq!(ProcessRoles::from_edges(6, &ring), ProcessRoles::default());
        assert_eq!(ProcessRoles::from_edges(6, &all), ProcessRoles::default());
    }
}
