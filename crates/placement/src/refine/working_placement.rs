//! A placement under modification, with host loads and distances updated incrementally.

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::RankGraph;
use crate::objective::ComputeBalance;

/// Two slots whose ranks are swapped; one of them may be empty.
pub(super) type SlotSwap = [u32; 2];

/// A placement under modification.
#[derive(Clone)]
pub(super) struct WorkingPlacement<'a> {
    pub graph: &'a RankGraph,
    pub fabric: &'a Fabric,
    /// The slot of each rank.
    slots: Vec<u32>,
    /// The rank on each slot.
    ranks: Vec<u32>,
    compute_balance: ComputeBalance,
}

const EMPTY_SLOT: u32 = u32::MAX;

impl<'a> WorkingPlacement<'a> {
    pub(super) fn new(graph: &'a RankGraph, fabric: &'a Fabric, placement: &Placement) -> WorkingPlacement<'a> {
        let mut ranks = vec![EMPTY_SLOT; fabric.slot_count() as usize];
        (0..).zip(&placement.0).for_each(|(rank, slot)| ranks[*slot as usize] = rank);
        WorkingPlacement {
            graph,
            fabric,
            slots: placement.0.clone(),
            ranks,
            compute_balance: ComputeBalance::from_placement(graph, fabric, placement),
        }
    }

    pub(super) fn placement(&self) -> Placement {
        Placement(self.slots.clone())
    }

    pub(super) fn slot(&self, rank: u32) -> u32 {
        self.slots[rank as usize]
    }

    pub(super) fn rank(&self, slot: u32) -> Option<u32> {
        Some(self.ranks[slot as usize]).filter(|rank| *rank != EMPTY_SLOT)
    }

    #[inline]
    pub(super) fn host_of(&self, rank: u32) -> u32 {
        self.fabric.host(self.slots[rank as usize])
    }

    pub(super) fn compute_balance(&self) -> &ComputeBalance {
        &self.compute_balance
    }

    /// Swaps the ranks on two slots.
    pub(super) fn swap(&mut self, [one, other]: SlotSwap) {
        let ranks = [one, other].map(|slot| self.rank(slot));
        let hosts = [one, other].map(|slot| self.fabric.host(slot));
        if hosts[0] != hosts[1] {
            self.compute_balance.swap(hosts, self.compute_of_ranks(ranks));
        }
        for (slot, rank) in [(one, ranks[1]), (other, ranks[0])] {
            self.ranks[slot as usize] = rank.unwrap_or(EMPTY_SLOT);
            rank.into_iter().for_each(|rank| self.slots[rank as usize] = slot);
        }
    }

    /// Relative excess of the slower of both hosts over the mean after a swap.
    pub(super) fn excess_after(&self, exchange: SlotSwap) -> f64 {
        let hosts = exchange.map(|slot| self.fabric.host(slot));
        let computes = self.compute_of_ranks(exchange.map(|slot| self.rank(slot)));
        self.compute_balance.excess_after(hosts, computes)
    }

    fn compute_of_ranks(&self, ranks: [Option<u32>; 2]) -> [Option<u64>; 2] {
        ranks.map(|rank| rank.map(|rank| self.graph.compute()[rank as usize]))
    }

    /// Change of byte distance by a swap.
    pub(super) fn distance_change(&self, [one, other]: SlotSwap) -> f64 {
        let [first, second] = [one, other].map(|slot| self.rank(slot));
        self.rank_distance_change(first, [one, other], second) + self.rank_distance_change(second, [other, one], first)
    }

    /// The same for one rank's traffic. The traffic between the two swapped ranks keeps its distance.
    fn rank_distance_change(&self, rank: Option<u32>, [from, to]: [u32; 2], partner: Option<u32>) -> f64 {
        let Some(rank) = rank else { return 0.0 };
        let others = self.graph.arcs(rank).iter().filter(|arc| Some(arc.to) != partner);
        let distance_change =
            |neighbour: u32| self.fabric.distance(to, self.slot(neighbour)) - self.fabric.distance(from, self.slot(neighbour));
        others.map(|arc| arc.weight as f64 * distance_change(arc.to)).sum()
    }

    /// Total bytes times distance.
    pub(super) fn byte_distance(&self) -> f64 {
        let of_arc = |rank: u32, to: u32, sent: u64| sent as f64 * self.fabric.distance(self.slot(rank), self.slot(to));
        (0..self.graph.rank_count() as u32)
            .flat_map(|rank| self.graph.arcs(rank).iter().map(move |arc| of_arc(rank, arc.to, arc.sent)))
            .sum()
    }
}
