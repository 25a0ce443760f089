//! Local search on the replayed run time, the only objective that considers when messages are sent and which rank waits.
//!
//! Replays are expensive, so only swaps are tried that bring a rank to a host where it has neighbours, heaviest traffic first, up to a
//! given number.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_replay::Error;

use super::ReplayTrial;
use crate::{Cluster, Placement, RankGraph};

/// Smaller improvements are ignored, so that the search ends.
const MIN_GAIN_SHARE: f64 = 1e-4;

/// A placement with its replayed time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedPlacement {
    /// The placement.
    pub placement: Placement,
    /// Its run time in seconds.
    pub seconds: f64,
}

/// Applies swaps that shorten the replay, with at most `most_replays` replays; `progress` is called after each.
pub fn hill_climb(
    trial: &ReplayTrial,
    graph: &RankGraph,
    cluster: &Cluster,
    start: TimedPlacement,
    most_replays: usize,
    progress: &dyn Fn(),
) -> Result<TimedPlacement, Error> {
    let hosts = cluster.hosts_by_slot();
    let mut best = start;
    let mut left = most_replays;
    'again: loop {
        for change in candidate_moves(graph, &hosts, &best.placement) {
            if left == 0 {
                break 'again;
            }
            left -= 1;
            let placement = change.apply_to(&best.placement);
            let seconds = trial.middle_s(&placement)?;
            progress();
            if seconds < best.seconds * (1.0 - MIN_GAIN_SHARE) {
                best = TimedPlacement { placement, seconds };
                continue 'again;
            }
        }
        break;
    }
    Ok(best)
}

/// Moves a rank to a slot, and the rank there to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SlotMove {
    rank: u32,
    slot: u32,
}

impl SlotMove {
    fn apply_to(self, placement: &Placement) -> Placement {
        let mut slots = placement.0.clone();
        let left = slots[self.rank as usize];
        slots.iter_mut().filter(|slot| **slot == self.slot).for_each(|slot| *slot = left);
        slots[self.rank as usize] = self.slot;
        Placement(slots)
    }
}

/// Promising moves, by decrease of inter-host bytes.
fn candidate_moves(graph: &RankGraph, hosts: &[u32], placement: &Placement) -> Vec<SlotMove> {
    let host = |rank: u32| hosts[placement.0[rank as usize] as usize];
    // Traffic of each rank with each host.
    let pulls: Vec<BTreeMap<u32, i128>> = (0..graph.rank_count() as u32)
        .map(|rank| {
            let mut pulls = BTreeMap::new();
            graph.arcs(rank).iter().for_each(|arc| *pulls.entry(host(arc.to)).or_default() += i128::from(arc.weight));
            pulls
        })
        .collect();
    let pull = |rank: u32, there: u32| pulls[rank as usize].get(&there).copied().unwrap_or(0);
    let between =
        |a: u32, b: u32| graph.arcs(a).binary_search_by_key(&b, |arc| arc.to).map_or(0, |at| i128::from(graph.arcs(a)[at].weight));
    let mut taken: Vec<Option<u32>> = vec![None; hosts.len()];
    (0..).zip(&placement.0).for_each(|(rank, slot)| taken[*slot as usize] = Some(rank));
    let mut changes: Vec<(i128, SlotMove)> = Vec::new();
    for rank in 0..graph.rank_count() as u32 {
        let (here, mut is_free_tried) = (host(rank), BTreeSet::new());
        for there in pulls[rank as usize].keys().filter(|there| **there != here) {
            let nearer = pull(rank, *there) - pull(rank, here);
            let first = hosts.partition_point(|host| host < there) as u32;
            for slot in (first..).take_while(|slot| hosts.get(*slot as usize) == Some(there)) {
                let gain = match taken[slot as usize] {
                    Some(other) => nearer + pull(other, here) - pull(other, *there) - 2 * between(rank, other),
                    // Free slots of a host are equivalent.
                    None if is_free_tried.insert(*there) => nearer,
                    None => continue,
                };
                changes.push((-gain, SlotMove { rank, slot }));
            }
        }
    }
    changes.sort_unstable();
    changes.into_iter().map(|(_, change)| change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExchangeEdge, Host};

    fn cluster(slots: &[u32]) -> Cluster {
        let hosts = slots.iter().zip('a'..).map(|(slots, name)| Host::new(name, *slots)).collect();
        Cluster::new(hosts)
    }

    fn edge(a: u32, b: u32, bytes: u64) -> ExchangeEdge {
        ExchangeEdge { ranks: [a, b], forward: bytes, backward: 0 }
    }

    #[test]
    fn the_swap_that_brings_partners_together_comes_first() {
        let graph = RankGraph::new(vec![1; 4], &[edge(0, 2, 100), edge(1, 3, 100), edge(0, 1, 1)]);
        let now = Placement::by_core(4);
        let after = candidate_moves(&graph, &cluster(&[2, 2]).hosts_by_slot(), &now)[0].apply_to(&now);
        let host = |rank: usize| after.0[rank] / 2;
        assert!(host(0) == host(2) && host(1) == host(3), "{after:?}");
    }

    #[test]
    fn a_rank_may_go_to_a_free_slot() {
        let graph = RankGraph::new(vec![1; 2], &[edge(0, 1, 100)]);
        let now = Placement(vec![0, 2]);
        let after = candidate_moves(&graph, &cluster(&[2, 2]).hosts_by_slot(), &now)[0].apply_to(&now);
        assert_eq!(after.0[0] / 2, after.0[1] / 2, "{after:?}");
    }
}
