//! The graph as the partitioner sees it: vertices stand for one or more ranks, with signed weights that cannot overflow when summed.

use crate::graph::RankGraph;
use sintonia_fit::SplitMix64;

/// Upper bound of the sum of all weights, so that gains and sums of gains fit.
const MAX_TOTAL_WEIGHT: u64 = 1 << 60;

/// Vertices that stand for ranks, and the traffic between them.
#[derive(Clone, Debug)]
pub(crate) struct PartitionGraph {
    /// Number of slots of each vertex.
    pub sizes: Vec<u32>,
    /// Computation of each vertex.
    pub compute: Vec<f64>,
    starts: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<i64>,
}

impl PartitionGraph {
    /// One vertex of one slot per rank; very large weights are scaled down.
    pub(crate) fn from_graph(graph: &RankGraph) -> PartitionGraph {
        let ranks = graph.rank_count() as u32;
        let total: u128 = (0..ranks).flat_map(|rank| graph.arcs(rank)).map(|arc| u128::from(arc.weight)).sum();
        let shift = (0..64).find(|shift| total >> shift < u128::from(MAX_TOTAL_WEIGHT)).unwrap_or(63);
        let compute = graph.compute().iter().map(|time| *time as f64).collect();
        let mut result = PartitionGraph::empty(graph.rank_count(), 2 * graph.edge_count());
        result.sizes.resize(graph.rank_count(), 1);
        result.compute = compute;
        for rank in 0..ranks {
            for arc in graph.arcs(rank) {
                result.ends.push(arc.to);
                result.weights.push((arc.weight >> shift) as i64);
            }
            result.starts.push(result.ends.len());
        }
        result
    }

    fn empty(vertices: usize, arcs: usize) -> PartitionGraph {
        let mut starts = Vec::with_capacity(vertices + 1);
        starts.push(0);
        let (sizes, compute) = (Vec::with_capacity(vertices), Vec::with_capacity(vertices));
        PartitionGraph { sizes, compute, starts, ends: Vec::with_capacity(arcs), weights: Vec::with_capacity(arcs) }
    }

    /// Adds isolated vertices without computation, up to `vertices`.
    pub(crate) fn padded(mut self, vertices: usize) -> PartitionGraph {
        let end = self.ends.len();
        self.sizes.resize(vertices, 1);
        self.compute.resize(vertices, 0.0);
        self.starts.resize(vertices + 1, end);
        self
    }

    /// Ignores computation.
    pub(crate) fn with_uniform_compute(mut self) -> PartitionGraph {
        self.compute.fill(0.0);
        self
    }

    /// Number of vertices.
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Total number of arcs.
    pub(crate) fn arc_count(&self) -> usize {
        self.ends.len()
    }

    /// Total number of slots.
    pub(crate) fn slot_count(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }

    /// The neighbours of a vertex with the edge weights.
    #[inline]
    pub(crate) fn arcs(&self, vertex: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let arcs = self.starts[vertex as usize]..self.starts[vertex as usize + 1];
        self.ends[arcs.clone()].iter().copied().zip(self.weights[arcs].iter().copied())
    }

    /// A random neighbour of a vertex.
    pub(crate) fn random_arc(&self, vertex: u32, random: &mut SplitMix64) -> Option<(u32, i64)> {
        let arcs = self.starts[vertex as usize]..self.starts[vertex as usize + 1];
        (!arcs.is_empty()).then(|| arcs.start + random.index_below(arcs.len())).map(|arc| (self.ends[arc], self.weights[arc]))
    }

    /// The subgraph of each part.
    pub(crate) fn split<Part: Copy + Into<u32>>(&self, part: &[Part], parts: usize) -> Vec<PartitionGraph> {
        let part = |vertex: u32| -> u32 { part[vertex as usize].into() };
        let mut members = vec![Vec::new(); parts];
        let mut index = vec![0u32; self.len()];
        for vertex in 0..self.len() as u32 {
            let members = &mut members[part(vertex) as usize];
            index[vertex as usize] = members.len() as u32;
            members.push(vertex);
        }
        let graph = |members: Vec<u32>| {
            let mut graph = PartitionGraph::empty(members.len(), 0);
            for vertex in members {
                let own = part(vertex);
                for (to, weight) in self.arcs(vertex).filter(|(to, _)| part(*to) == own) {
                    graph.ends.push(index[to as usize]);
                    graph.weights.push(weight);
                }
                graph.finish_vertex(self.sizes[vertex as usize], self.compute[vertex as usize]);
            }
            graph
        };
        members.into_iter().map(graph).collect()
    }

    /// The subgraph of two parts, and which of its vertices are in the second; `index` is scratch space with an entry per vertex,
    /// `u32::MAX` before and after.
    pub(crate) fn pair_subgraph(&self, members: [&[u32]; 2], index: &mut [u32]) -> (PartitionGraph, Vec<bool>) {
        let both = || members[0].iter().chain(members[1]).copied();
        for (new, vertex) in both().enumerate() {
            index[vertex as usize] = new as u32;
        }
        let mut graph = PartitionGraph::empty(members[0].len() + members[1].len(), 0);
        for vertex in both() {
            for (to, weight) in self.arcs(vertex).filter(|(to, _)| index[*to as usize] != u32::MAX) {
                graph.ends.push(index[to as usize]);
                graph.weights.push(weight);
            }
            graph.finish_vertex(self.sizes[vertex as usize], self.compute[vertex as usize]);
        }
        both().for_each(|vertex| index[vertex as usize] = u32::MAX);
        let second = (0..graph.len()).map(|vertex| vertex >= members[0].len()).collect();
        (graph, second)
    }

    /// One vertex per cluster; edges inside clusters disappear.
    pub(crate) fn contracted(&self, cluster: &[u32], clusters: usize) -> PartitionGraph {
        let members = GroupMembers::new(cluster, clusters);
        let mut graph = PartitionGraph::empty(clusters, self.ends.len() / 2);
        let mut index = vec![usize::MAX; clusters];
        for own in 0..clusters {
            let start = graph.ends.len();
            let (mut size, mut compute) = (0, 0.0);
            for vertex in members.group(own) {
                size += self.sizes[*vertex as usize];
                compute += self.compute[*vertex as usize];
                for (to, weight) in self.arcs(*vertex) {
                    let to = cluster[to as usize] as usize;
                    if to == own {
                        continue;
                    }
                    if index[to] == usize::MAX || index[to] < start {
                        index[to] = graph.ends.len();
                        graph.ends.push(to as u32);
                        graph.weights.push(weight);
                    } else {
                        graph.weights[index[to]] += weight;
                    }
                }
            }
            graph.finish_vertex(size, compute);
        }
        graph
    }

    /// Finishes the vertex whose arcs were added last.
    fn finish_vertex(&mut self, size: u32, compute: f64) {
        self.sizes.push(size);
        self.compute.push(compute);
        self.starts.push(self.ends.len());
    }
}

/// The vertices of each group, in compressed form.
pub(crate) struct GroupMembers {
    starts: Vec<usize>,
    vertices: Vec<u32>,
}

impl GroupMembers {
    /// Sorts vertices by group.
    pub(crate) fn new(group: &[u32], groups: usize) -> GroupMembers {
        let mut starts = vec![0usize; groups + 1];
        group.iter().for_each(|group| starts[*group as usize + 1] += 1);
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut vertices = vec![0; group.len()];
        for (vertex, group) in group.iter().enumerate() {
            vertices[next[*group as usize]] = vertex as u32;
            next[*group as usize] += 1;
        }
        GroupMembers { starts, vertices }
    }

    /// The vertices of a group.
    pub(crate) fn group(&self, group: usize) -> &[u32] {
        &self.vertices[self.starts[group]..self.starts[group + 1]]
    }
}
