//! Roles that processes had in an earlier run: who handed out work, and who did it, as the messages of a recording show.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_program::{CommunicationGraph, Edge};
use sintonia_recording::Recording;

/// A master speaks with at least this share of all others.
const SPEAKS_WITH: f64 = 0.5;
/// A worker exchanges at least this share of its messages with masters.
const WITH_MASTERS: f64 = 0.9;

/// Who did what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// Ranks that handed out work.
    pub masters: Vec<u32>,
    /// Ranks that spoke with masters only.
    pub workers: Vec<u32>,
}

impl Roles {
    /// The roles in a recording.
    pub fn of(path: &Path) -> Result<Roles, String> {
        let recording = Recording::open(path).map_err(|error| error.to_string())?;
        let graph = CommunicationGraph::of(&recording, false, || ()).map_err(|error| error.to_string())?;
        Ok(Roles::in_graph(graph.compute_us.len(), &graph.edges))
    }

    /// The roles among so many ranks that exchanged these messages.
    fn in_graph(ranks: usize, edges: &[Edge]) -> Roles {
        let mut peers: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for Edge { ranks: [one, other], messages, .. } in edges.iter().filter(|edge| edge.messages > 0) {
            peers.entry(*one).or_default().push((*other, *messages));
            peers.entry(*other).or_default().push((*one, *messages));
        }
        let many = (SPEAKS_WITH * ranks.saturating_sub(1) as f64).max(1.0);
        let hubs: Vec<u32> = peers.iter().filter(|(_, peers)| peers.len() as f64 >= many).map(|(rank, _)| *rank).collect();
        let speaks_with_hubs = |peers: &Vec<(u32, u64)>| {
            let all: u64 = peers.iter().map(|(_, messages)| messages).sum();
            let with_hubs: u64 = peers.iter().filter(|(peer, _)| hubs.contains(peer)).map(|(_, messages)| messages).sum();
            with_hubs as f64 >= WITH_MASTERS * all as f64
        };
        let workers: Vec<u32> =
            peers.iter().filter(|(rank, peers)| !hubs.contains(rank) && speaks_with_hubs(peers)).map(|(rank, _)| *rank).collect();
        // Where everybody speaks with everybody nobody is a master.
        if 2 * workers.len() < ranks { Roles::default() } else { Roles { masters: hubs, workers } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(one: u32, other: u32) -> Edge {
        Edge { ranks: [one, other], bytes: 1000, bytes_there: 500, messages: 10 }
    }

    #[test]
    fn who_speaks_with_all_others_that_speak_with_nobody_else_is_a_master() {
        let star: Vec<Edge> = [0, 1, 3, 4].into_iter().map(|rank| edge(rank.min(2), rank.max(2))).collect();
        assert_eq!(Roles::in_graph(5, &star), Roles { masters: vec![2], workers: vec![0, 1, 3, 4] });
    }

    #[test]
    fn among_neighbours_or_where_all_speak_with_all_there_is_none() {
        let ring: Vec<Edge> = (0..6).map(|rank| edge(rank, (rank + 1) % 6)).collect();
        let all: Vec<Edge> = (0..6).flat_map(|one| (one + 1..6).map(move |other| edge(one, other))).collect();
        assert_eq!(Roles::in_graph(6, &ring), Roles::default());
        assert_eq!(Roles::in_graph(6, &all), Roles::default());
    }
}
