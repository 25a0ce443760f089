//! Who is where while ranks change places, and what that does to hosts and distances.

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::Graph;
use crate::objective::Computing;

/// Two slots whose ranks change places; one of them may be empty.
pub type Exchange = [u32; 2];

/// Who is where.
#[derive(Clone)]
pub struct Board<'a> {
    pub graph: &'a Graph,
    pub fabric: &'a Fabric,
    /// The slot of each rank.
    slots: Vec<u32>,
    /// The rank on each slot.
    ranks: Vec<u32>,
    computing: Computing,
}

const NOBODY: u32 = u32::MAX;

impl<'a> Board<'a> {
    pub fn new(graph: &'a Graph, fabric: &'a Fabric, placement: &Placement) -> Board<'a> {
        let mut ranks = vec![NOBODY; fabric.slots() as usize];
        (0..).zip(&placement.0).for_each(|(rank, slot)| ranks[*slot as usize] = rank);
        Board { graph, fabric, slots: placement.0.clone(), ranks, computing: Computing::of(graph, fabric, placement) }
    }

    pub fn placement(&self) -> Placement {
        Placement(self.slots.clone())
    }

    pub fn slot(&self, rank: u32) -> u32 {
        self.slots[rank as usize]
    }

    pub fn rank(&self, slot: u32) -> Option<u32> {
        Some(self.ranks[slot as usize]).filter(|rank| *rank != NOBODY)
    }

    #[inline]
    pub fn host_of(&self, rank: u32) -> u32 {
        self.fabric.host(self.slots[rank as usize])
    }

    pub fn computing(&self) -> &Computing {
        &self.computing
    }

    /// Lets the ranks on two slots change places.
    pub fn exchange(&mut self, [one, other]: Exchange) {
        let ranks = [one, other].map(|slot| self.rank(slot));
        let hosts = [one, other].map(|slot| self.fabric.host(slot));
        if hosts[0] != hosts[1] {
            self.computing.exchange(hosts, self.computes(ranks));
        }
        for (slot, rank) in [(one, ranks[1]), (other, ranks[0])] {
            self.ranks[slot as usize] = rank.unwrap_or(NOBODY);
            rank.into_iter().for_each(|rank| self.slots[rank as usize] = slot);
        }
    }

    /// How much longer than the mean the slower of both hosts would compute after an exchange.
    pub fn excess_after(&self, exchange: Exchange) -> f64 {
        let hosts = exchange.map(|slot| self.fabric.host(slot));
        let computes = self.computes(exchange.map(|slot| self.rank(slot)));
        self.computing.excess_after(hosts, computes)
    }

    fn computes(&self, ranks: [Option<u32>; 2]) -> [Option<u64>; 2] {
        ranks.map(|rank| rank.map(|rank| self.graph.compute()[rank as usize]))
    }

    /// How much farther bytes go after an exchange.
    pub fn farther(&self, [one, other]: Exchange) -> f64 {
        let [first, second] = [one, other].map(|slot| self.rank(slot));
        self.farther_for(first, [one, other], second) + self.farther_for(second, [other, one], first)
    }

    /// The same for one rank's bytes only. What it exchanges with the other that moves goes as far as before.
    fn farther_for(&self, rank: Option<u32>, [from, to]: [u32; 2], partner: Option<u32>) -> f64 {
        let Some(rank) = rank else { return 0.0 };
        let others = self.graph.arcs(rank).iter().filter(|arc| Some(arc.to) != partner);
        let farther = |neighbour: u32| self.fabric.distance(to, self.slot(neighbour)) - self.fabric.distance(from, self.slot(neighbour));
        others.map(|arc| arc.weight as f64 * farther(arc.to)).sum()
    }

    /// Bytes times the distance they go, of all together.
    pub fn byte_distance(&self) -> f64 {
        let of_arc = |rank: u32, to: u32, sent: u64| sent as f64 * self.fabric.distance(self.slot(rank), self.slot(to));
        (0..self.graph.ranks() as u32).flat_map(|rank| self.graph.arcs(rank).iter().map(move |arc| of_arc(rank, arc.to, arc.sent))).sum()
    }
}
