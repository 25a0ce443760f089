//! The graph as the partitioner sees it: vertices that stand for one rank or for many, with signed weights that cannot overflow when added up.

use crate::graph::Graph;
use sintonia_fit::Random;

/// The sum of all weights stays below this, so that gains and sums of gains fit.
const HEAVIEST: u64 = 1 << 60;

/// Vertices that stand for ranks, and what they exchange.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    /// How many slots each vertex takes.
    pub sizes: Vec<u32>,
    /// How long each vertex computes.
    pub compute: Vec<f64>,
    starts: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<i64>,
}

impl Net {
    /// Every rank a vertex of one slot; very great weights are made smaller alike.
    pub fn of(graph: &Graph) -> Net {
        let ranks = graph.ranks() as u32;
        let total: u128 = (0..ranks).flat_map(|rank| graph.arcs(rank)).map(|arc| u128::from(arc.weight)).sum();
        let shift = (0..64).find(|shift| total >> shift < u128::from(HEAVIEST)).unwrap_or(63);
        let compute = graph.compute().iter().map(|time| *time as f64).collect();
        let mut net = Net::empty(graph.ranks(), 2 * graph.edges());
        net.sizes.resize(graph.ranks(), 1);
        net.compute = compute;
        for rank in 0..ranks {
            for arc in graph.arcs(rank) {
                net.ends.push(arc.to);
                net.weights.push((arc.weight >> shift) as i64);
            }
            net.starts.push(net.ends.len());
        }
        net
    }

    fn empty(vertices: usize, arcs: usize) -> Net {
        let mut starts = Vec::with_capacity(vertices + 1);
        starts.push(0);
        let (sizes, compute) = (Vec::with_capacity(vertices), Vec::with_capacity(vertices));
        Net { sizes, compute, starts, ends: Vec::with_capacity(arcs), weights: Vec::with_capacity(arcs) }
    }

    /// The same with vertices that compute and exchange nothing, so that there are so many.
    pub fn padded(mut self, vertices: usize) -> Net {
        let end = self.ends.len();
        self.sizes.resize(vertices, 1);
        self.compute.resize(vertices, 0.0);
        self.starts.resize(vertices + 1, end);
        self
    }

    /// The same with vertices that all compute alike.
    pub fn alike(mut self) -> Net {
        self.compute.fill(0.0);
        self
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// How many neighbours all vertices have together.
    pub fn arcs_in_all(&self) -> usize {
        self.ends.len()
    }

    /// How many slots all vertices take.
    pub fn size(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }

    /// The neighbours of a vertex, and what it exchanges with each.
    #[inline]
    pub fn arcs(&self, vertex: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let arcs = self.starts[vertex as usize]..self.starts[vertex as usize + 1];
        self.ends[arcs.clone()].iter().copied().zip(self.weights[arcs].iter().copied())
    }

    /// One of the neighbours of a vertex by chance.
    pub fn arc(&self, vertex: u32, random: &mut Random) -> Option<(u32, i64)> {
        let arcs = self.starts[vertex as usize]..self.starts[vertex as usize + 1];
        (!arcs.is_empty()).then(|| arcs.start + random.below(arcs.len())).map(|arc| (self.ends[arc], self.weights[arc]))
    }

    /// A net for each part.
    pub fn split<Part: Copy + Into<u32>>(&self, part: &[Part], parts: usize) -> Vec<Net> {
        let part = |vertex: u32| -> u32 { part[vertex as usize].into() };
        let mut members = vec![Vec::new(); parts];
        let mut place = vec![0u32; self.len()];
        for vertex in 0..self.len() as u32 {
            let members = &mut members[part(vertex) as usize];
            place[vertex as usize] = members.len() as u32;
            members.push(vertex);
        }
        let net = |members: Vec<u32>| {
            let mut net = Net::empty(members.len(), 0);
            for vertex in members {
                let own = part(vertex);
                for (to, weight) in self.arcs(vertex).filter(|(to, _)| part(*to) == own) {
                    net.ends.push(place[to as usize]);
                    net.weights.push(weight);
                }
                net.close(self.sizes[vertex as usize], self.compute[vertex as usize]);
            }
            net
        };
        members.into_iter().map(net).collect()
    }

    /// The net of two parts, and which of its vertices is in the second; `place` is room for a number of each vertex, greatest before and after.
    pub fn pair(&self, members: [&[u32]; 2], place: &mut [u32]) -> (Net, Vec<bool>) {
        let both = || members[0].iter().chain(members[1]).copied();
        for (new, vertex) in both().enumerate() {
            place[vertex as usize] = new as u32;
        }
        let mut net = Net::empty(members[0].len() + members[1].len(), 0);
        for vertex in both() {
            for (to, weight) in self.arcs(vertex).filter(|(to, _)| place[*to as usize] != u32::MAX) {
                net.ends.push(place[to as usize]);
                net.weights.push(weight);
            }
            net.close(self.sizes[vertex as usize], self.compute[vertex as usize]);
        }
        both().for_each(|vertex| place[vertex as usize] = u32::MAX);
        let second = (0..net.len()).map(|vertex| vertex >= members[0].len()).collect();
        (net, second)
    }

    /// One vertex for each cluster; what is exchanged inside of one is gone.
    pub fn contracted(&self, cluster: &[u32], clusters: usize) -> Net {
        let members = Members::new(cluster, clusters);
        let mut net = Net::empty(clusters, self.ends.len() / 2);
        let mut place = vec![usize::MAX; clusters];
        for own in 0..clusters {
            let start = net.ends.len();
            let (mut size, mut compute) = (0, 0.0);
            for vertex in members.of(own) {
                size += self.sizes[*vertex as usize];
                compute += self.compute[*vertex as usize];
                for (to, weight) in self.arcs(*vertex) {
                    let to = cluster[to as usize] as usize;
                    if to == own {
                        continue;
                    }
                    if place[to] == usize::MAX || place[to] < start {
                        place[to] = net.ends.len();
                        net.ends.push(to as u32);
                        net.weights.push(weight);
                    } else {
                        net.weights[place[to]] += weight;
                    }
                }
            }
            net.close(size, compute);
        }
        net
    }

    /// The vertex whose arcs were put last is complete.
    fn close(&mut self, size: u32, compute: f64) {
        self.sizes.push(size);
        self.compute.push(compute);
        self.starts.push(self.ends.len());
    }
}

/// The vertices of each of many groups, in one piece of memory.
pub(crate) struct Members {
    starts: Vec<usize>,
    vertices: Vec<u32>,
}

impl Members {
    /// Sorts vertices by the group each is in.
    pub fn new(group: &[u32], groups: usize) -> Members {
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
        Members { starts, vertices }
    }

    /// The vertices of a group.
    pub fn of(&self, group: usize) -> &[u32] {
        &self.vertices[self.starts[group]..self.starts[group + 1]]
    }
}
