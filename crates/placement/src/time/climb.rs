//! Local search on the replayed time itself: the one objective that knows when messages are sent, and who waits for them.
//!
//! A replay costs much more than a sum, so only swaps are tried that bring a rank to a host where it has partners, those first that exchange most
//! with it, and no more than a given number of them.

use sintonia_replay::Error;

use super::Trial;
use crate::{Cluster, Graph, Placement};

/// Less than this share is no gain: it would be followed for ever.
const LEAST: f64 = 1e-4;

/// A placement with its replayed time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// The placement.
    pub placement: Placement,
    /// Its seconds.
    pub seconds: f64,
}

/// Swaps ranks as long as the replay gets shorter, with at most so many replays; `progress` is called after each.
pub fn climb(
    trial: &Trial,
    graph: &Graph,
    cluster: &Cluster,
    start: Timed,
    most_replays: usize,
    progress: &dyn Fn(),
) -> Result<Timed, Error> {
    let hosts = cluster.hosts_by_slot();
    let mut best = start;
    let mut left = most_replays;
    'again: loop {
        for [a, b] in swaps(graph, &hosts, &best.placement) {
            if left == 0 {
                break 'again;
            }
            left -= 1;
            let mut placement = best.placement.clone();
            placement.0.swap(a as usize, b as usize);
            let seconds = trial.middle(&placement)?;
            progress();
            if seconds < best.seconds * (1.0 - LEAST) {
                best = Timed { placement, seconds };
                continue 'again;
            }
        }
        break;
    }
    Ok(best)
}

/// Pairs of ranks that could change places, the most promising first: by how many bytes fewer go from host to host then.
fn swaps(graph: &Graph, hosts: &[u32], placement: &Placement) -> Vec<[u32; 2]> {
    let ranks = graph.ranks() as u32;
    let host = |rank: u32| hosts[placement.0[rank as usize] as usize];
    let mut by_host: Vec<Vec<u32>> = vec![Vec::new(); hosts.iter().max().map_or(0, |last| *last as usize + 1)];
    (0..ranks).for_each(|rank| by_host[host(rank) as usize].push(rank));
    // What a rank exchanges with those on a host.
    let pull = |rank: u32, there: u32| -> i128 {
        graph.arcs(rank).iter().filter(|arc| host(arc.to) == there).map(|arc| i128::from(arc.weight)).sum()
    };
    let between = |a: u32, b: u32| graph.arcs(a).iter().find(|arc| arc.to == b).map_or(0, |arc| i128::from(arc.weight));
    let mut swaps: Vec<(i128, [u32; 2])> = Vec::new();
    for a in 0..ranks {
        let mut partners: Vec<u32> = graph.arcs(a).iter().map(|arc| host(arc.to)).filter(|there| *there != host(a)).collect();
        partners.sort_unstable();
        partners.dedup();
        for there in partners {
            for b in by_host[there as usize].iter().copied() {
                let gain = pull(a, there) - pull(a, host(a)) + pull(b, host(a)) - pull(b, there) - 2 * between(a, b);
                swaps.push((-gain, [a.min(b), a.max(b)]));
            }
        }
    }
    swaps.sort_unstable();
    swaps.dedup();
    swaps.into_iter().map(|(_, pair)| pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distances, Edge, Host};

    #[test]
    fn the_swap_that_brings_partners_together_comes_first() {
        let edge = |a, b, bytes| Edge { ranks: [a, b], there: bytes, back: 0 };
        let graph = Graph::new(vec![1; 4], &[edge(0, 2, 100), edge(1, 3, 100), edge(0, 1, 1)]);
        let hosts = vec![Host::plain("a", 2), Host::plain("b", 2)];
        let cluster = Cluster { hosts, topology: None, bytes_per_s: 1e9, distances: Distances::default() };
        let first = swaps(&graph, &cluster.hosts_by_slot(), &Placement::by_core(4))[0];
        assert!([[0, 3], [1, 2]].contains(&first), "{first:?}");
    }
}
