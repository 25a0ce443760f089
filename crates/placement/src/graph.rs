//! The communication graph in the form the partitioner needs: adjacency lists in compressed form.

/// The traffic between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeEdge {
    /// The two ranks, which differ.
    pub ranks: [u32; 2],
    /// Traffic from the first to the second.
    pub forward: u64,
    /// Traffic from the second to the first.
    pub backward: u64,
}

/// A neighbour of a rank with the traffic between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankArc {
    /// The neighbour.
    pub to: u32,
    /// Traffic in both directions.
    pub weight: u64,
    /// Traffic to the neighbour.
    pub sent: u64,
}

/// Ranks as vertices, traffic as edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankGraph {
    /// Computation of each rank, in any unit.
    compute: Vec<u64>,
    /// Start of each rank's arcs, followed by the end.
    starts: Vec<usize>,
    arcs: Vec<RankArc>,
}

impl RankGraph {
    /// A graph of ranks with this computation. Edges between the same ranks are merged; edges of unknown ranks are dropped.
    pub fn new(compute: Vec<u64>, edges: &[ExchangeEdge]) -> RankGraph {
        let ranks = compute.len();
        let is_between = |edge: &&ExchangeEdge| edge.ranks[0] != edge.ranks[1] && edge.ranks.iter().all(|rank| (*rank as usize) < ranks);
        let mut starts = vec![0; ranks + 1];
        for edge in edges.iter().filter(is_between) {
            edge.ranks.iter().for_each(|rank| starts[*rank as usize + 1] += 1);
        }
        for rank in 0..ranks {
            starts[rank + 1] += starts[rank];
        }
        let mut next = starts.clone();
        let mut arcs = vec![RankArc { to: 0, weight: 0, sent: 0 }; starts[ranks]];
        let mut put = |from: u32, arc: RankArc| {
            arcs[next[from as usize]] = arc;
            next[from as usize] += 1;
        };
        for ExchangeEdge { ranks: [a, b], forward: there, backward: back } in edges.iter().filter(is_between).copied() {
            let weight = there.saturating_add(back);
            put(a, RankArc { to: b, weight, sent: there });
            put(b, RankArc { to: a, weight, sent: back });
        }
        let mut graph = RankGraph { compute, starts, arcs };
        graph.merge_arcs();
        graph
    }

    /// Sorts the arcs of each rank and merges those to the same neighbour.
    fn merge_arcs(&mut self) {
        let mut kept = 0;
        for rank in 0..self.compute.len() {
            let (start, end) = (self.starts[rank], self.starts[rank + 1]);
            self.arcs[start..end].sort_unstable_by_key(|arc| arc.to);
            self.starts[rank] = kept;
            for index in start..end {
                let arc = self.arcs[index];
                if kept > self.starts[rank] && self.arcs[kept - 1].to == arc.to {
                    let one = &mut self.arcs[kept - 1];
                    one.weight = one.weight.saturating_add(arc.weight);
                    one.sent = one.sent.saturating_add(arc.sent);
                } else {
                    self.arcs[kept] = arc;
                    kept += 1;
                }
            }
        }
        self.starts[self.compute.len()] = kept;
        self.arcs.truncate(kept);
    }

    /// Number of ranks.
    pub fn rank_count(&self) -> usize {
        self.compute.len()
    }

    /// Number of pairs of ranks with traffic.
    pub fn edge_count(&self) -> usize {
        self.arcs.len() / 2
    }

    /// The neighbours of a rank, sorted.
    #[inline]
    pub fn arcs(&self, rank: u32) -> &[RankArc] {
        &self.arcs[self.starts[rank as usize]..self.starts[rank as usize + 1]]
    }

    /// Computation of each rank.
    pub fn compute(&self) -> &[u64] {
        &self.compute
    }

    /// Adds isolated ranks without computation, up to `ranks`: they stand for empty slots.
    pub fn padded(mut self, ranks: usize) -> RankGraph {
        let end = self.arcs.len();
        self.compute.resize(ranks.max(self.compute.len()), 0);
        self.starts.resize(self.compute.len() + 1, end);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_between_the_same_ranks_are_one_seen_from_both_sides() {
        let edges = [
            ExchangeEdge { ranks: [0, 2], forward: 5, backward: 1 },
            ExchangeEdge { ranks: [2, 0], forward: 10, backward: 0 },
            ExchangeEdge { ranks: [1, 1], forward: 7, backward: 7 },
            ExchangeEdge { ranks: [1, 9], forward: 7, backward: 7 },
        ];
        let graph = RankGraph::new(vec![1; 3], &edges);
        assert_eq!((graph.rank_count(), graph.edge_count()), (3, 1));
        assert_eq!(graph.arcs(0), [RankArc { to: 2, weight: 16, sent: 5 }]);
        assert_eq!(graph.arcs(1), []);
        assert_eq!(graph.arcs(2), [RankArc { to: 0, weight: 16, sent: 11 }]);
    }

    #[test]
    fn padding_adds_ranks_without_neighbours() {
        let graph = RankGraph::new(vec![3; 2], &[ExchangeEdge { ranks: [0, 1], forward: 1, backward: 1 }]).padded(4);
        assert_eq!((graph.rank_count(), graph.compute(), graph.arcs(3)), (4, &[3, 3, 0, 0][..], &[][..]));
    }
}
