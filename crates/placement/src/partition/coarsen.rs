//! Fewer vertices: neighbours that exchange much become one.
//!
//! Vertices are matched in pairs, by what they exchange for each of the pairs of ranks they stand for. Where many have no neighbour left that is
//! alone too (stars, ranks that exchange nothing), those with the same best neighbour are matched.

use super::net::Net;
use sintonia_fit::Random;

/// A vertex that is not matched.
const ALONE: u32 = u32::MAX;

/// A coarser net, and in which of its vertices each one of the finer is.
pub(crate) struct Coarser {
    /// The coarser net.
    pub net: Net,
    /// Its vertex for each one of the finer net.
    pub cluster: Vec<u32>,
}

/// Matches vertices that together are not larger than `largest`, and of the same side if there are sides; nothing if too few could be.
pub(crate) fn coarser(net: &Net, largest: u32, side: Option<&[bool]>, random: &mut Random) -> Option<Coarser> {
    let vertices = net.len();
    let order = shuffled(vertices, random);
    let mut matching = Matching { net, largest, side, mate: vec![ALONE; vertices] };
    let mut priority = vec![0u32; vertices];
    order.iter().zip(0..).for_each(|(vertex, place)| priority[*vertex as usize] = place);
    for vertex in &order {
        matching.pair_with_best(*vertex, &priority);
    }
    let alone = matching.mate.iter().filter(|mate| **mate == ALONE).count();
    if alone * 3 > vertices {
        matching.pair_leftovers(&order);
    }
    let (cluster, clusters) = matching.clusters();
    (clusters * 20 < vertices * 19).then(|| Coarser { net: net.contracted(&cluster, clusters), cluster })
}

/// All vertices in an order by chance.
pub(crate) fn shuffled(vertices: usize, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..vertices as u32).collect();
    for place in (1..vertices).rev() {
        order.swap(place, random.below(place + 1));
    }
    order
}

struct Matching<'a> {
    net: &'a Net,
    largest: u32,
    side: Option<&'a [bool]>,
    mate: Vec<u32>,
}

impl Matching<'_> {
    fn may_join(&self, a: u32, b: u32) -> bool {
        a != b
            && self.net.sizes[a as usize].saturating_add(self.net.sizes[b as usize]) <= self.largest
            && self.side.is_none_or(|side| side[a as usize] == side[b as usize])
    }

    fn join(&mut self, a: u32, b: u32) {
        self.mate[a as usize] = b;
        self.mate[b as usize] = a;
    }

    fn is_alone(&self, vertex: u32) -> bool {
        self.mate[vertex as usize] == ALONE
    }

    fn pair_with_best(&mut self, vertex: u32, priority: &[u32]) {
        if !self.is_alone(vertex) {
            return;
        }
        let mut best: Option<(f64, u32, u32)> = None;
        for (to, weight) in self.net.arcs(vertex).filter(|(to, _)| self.is_alone(*to) && self.may_join(vertex, *to)) {
            let candidate = (weight as f64 / f64::from(self.net.sizes[to as usize]), priority[to as usize], to);
            if best.is_none_or(|best| candidate > best) {
                best = Some(candidate);
            }
        }
        if let Some((_, _, to)) = best {
            self.join(vertex, to);
        }
    }

    fn pair_leftovers(&mut self, order: &[u32]) {
        let nowhere = self.net.len();
        let mut waiting = vec![ALONE; nowhere + 1];
        for vertex in order.iter().copied() {
            if !self.is_alone(vertex) {
                continue;
            }
            let best = self.net.arcs(vertex).max_by_key(|(_, weight)| *weight).map_or(nowhere, |(to, _)| to as usize);
            let other = waiting[best];
            if other != ALONE && self.may_join(vertex, other) {
                self.join(vertex, other);
                waiting[best] = ALONE;
            } else {
                waiting[best] = vertex;
            }
        }
    }

    fn clusters(&self) -> (Vec<u32>, usize) {
        let mut cluster = vec![ALONE; self.net.len()];
        let mut clusters = 0;
        for vertex in 0..self.net.len() {
            if cluster[vertex] == ALONE {
                cluster[vertex] = clusters;
                if self.mate[vertex] != ALONE {
                    cluster[self.mate[vertex] as usize] = clusters;
                }
                clusters += 1;
            }
        }
        (cluster, clusters as usize)
    }
}
