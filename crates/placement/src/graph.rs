//! Who exchanges how much with whom, ready for partitioning: ranks as vertices, each with its neighbours in one piece of memory.

/// What two ranks exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The two ranks; not the same.
    pub ranks: [u32; 2],
    /// What the first one sends to the second.
    pub there: u64,
    /// What the second one sends to the first.
    pub back: u64,
}

/// A rank's neighbour, and what they exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The neighbour.
    pub to: u32,
    /// What both send each other.
    pub weight: u64,
    /// What is sent to the neighbour.
    pub sent: u64,
}

/// Ranks as vertices, what they exchange as edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// How long each rank computes, in any unit.
    compute: Vec<u64>,
    /// Where the arcs of each rank begin; and the end.
    starts: Vec<usize>,
    arcs: Vec<Arc>,
}

impl Graph {
    /// A graph of ranks that compute so long each; edges between the same ranks are added up, those of ranks that do not exist left away.
    pub fn new(compute: Vec<u64>, edges: &[Edge]) -> Graph {
        let ranks = compute.len();
        let is_between = |edge: &&Edge| edge.ranks[0] != edge.ranks[1] && edge.ranks.iter().all(|rank| (*rank as usize) < ranks);
        let mut starts = vec![0; ranks + 1];
        for edge in edges.iter().filter(is_between) {
            edge.ranks.iter().for_each(|rank| starts[*rank as usize + 1] += 1);
        }
        for rank in 0..ranks {
            starts[rank + 1] += starts[rank];
        }
        let mut next = starts.clone();
        let mut arcs = vec![Arc { to: 0, weight: 0, sent: 0 }; starts[ranks]];
        let mut put = |from: u32, arc: Arc| {
            arcs[next[from as usize]] = arc;
            next[from as usize] += 1;
        };
        for Edge { ranks: [a, b], there, back } in edges.iter().filter(is_between).copied() {
            let weight = there.saturating_add(back);
            put(a, Arc { to: b, weight, sent: there });
            put(b, Arc { to: a, weight, sent: back });
        }
        let mut graph = Graph { compute, starts, arcs };
        graph.merge();
        graph
    }

    /// Sorts the arcs of each rank, and makes one of those to the same neighbour.
    fn merge(&mut self) {
        let mut kept = 0;
        for rank in 0..self.compute.len() {
            let (start, end) = (self.starts[rank], self.starts[rank + 1]);
            self.arcs[start..end].sort_unstable_by_key(|arc| arc.to);
            self.starts[rank] = kept;
            for place in start..end {
                let arc = self.arcs[place];
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

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.compute.len()
    }

    /// How many pairs of ranks exchange something.
    pub fn edges(&self) -> usize {
        self.arcs.len() / 2
    }

    /// The neighbours of a rank, in order.
    #[inline]
    pub fn arcs(&self, rank: u32) -> &[Arc] {
        &self.arcs[self.starts[rank as usize]..self.starts[rank as usize + 1]]
    }

    /// How long each rank computes.
    pub fn compute(&self) -> &[u64] {
        &self.compute
    }

    /// The same with ranks that compute and exchange nothing, so that there are so many: they stand for slots that stay empty.
    pub fn padded(mut self, ranks: usize) -> Graph {
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
            Edge { ranks: [0, 2], there: 5, back: 1 },
            Edge { ranks: [2, 0], there: 10, back: 0 },
            Edge { ranks: [1, 1], there: 7, back: 7 },
            Edge { ranks: [1, 9], there: 7, back: 7 },
        ];
        let graph = Graph::new(vec![1; 3], &edges);
        assert_eq!((graph.ranks(), graph.edges()), (3, 1));
        assert_eq!(graph.arcs(0), [Arc { to: 2, weight: 16, sent: 5 }]);
        assert_eq!(graph.arcs(1), []);
        assert_eq!(graph.arcs(2), [Arc { to: 0, weight: 16, sent: 11 }]);
    }

    #[test]
    fn padding_adds_ranks_without_neighbours() {
        let graph = Graph::new(vec![3; 2], &[Edge { ranks: [0, 1], there: 1, back: 1 }]).padded(4);
        assert_eq!((graph.ranks(), graph.compute(), graph.arcs(3)), (4, &[3, 3, 0, 0][..], &[][..]));
    }
}
