//! A one-to-one assignment of ranks to slots, with the gain of swaps.

use super::domain_loads::DomainLoads;
use super::slot_codes::SlotCodes;
use crate::partition::partition_graph::PartitionGraph;

/// An assignment in which every slot is used.
#[derive(Clone)]
pub(crate) struct SlotAssignment<'a> {
    /// The traffic.
    pub graph: &'a PartitionGraph,
    /// The distances.
    pub tree: &'a SlotCodes,
    slots: Vec<u32>,
    ranks: Vec<u32>,
    codes: Vec<u64>,
    loads: Option<DomainLoads<'a>>,
}

impl<'a> SlotAssignment<'a> {
    /// An assignment of ranks to distinct slots, as many as ranks.
    pub(super) fn new(
        graph: &'a PartitionGraph,
        tree: &'a SlotCodes,
        domain_loads: Option<DomainLoads<'a>>,
        slots: Vec<u32>,
    ) -> SlotAssignment<'a> {
        let mut ranks = vec![0; slots.len()];
        slots.iter().zip(0..).for_each(|(slot, rank)| ranks[*slot as usize] = rank);
        let codes = slots.iter().map(|slot| tree.codes()[*slot as usize]).collect();
        let loads = domain_loads.map(|domain_loads| domain_loads.with_slots(&slots));
        SlotAssignment { graph, tree, slots, ranks, codes, loads }
    }

    /// The slot of each rank.
    pub(super) fn into_slots(self) -> Vec<u32> {
        self.slots
    }

    /// The slot of a rank.
    #[inline]
    pub(super) fn slot(&self, rank: u32) -> u32 {
        self.slots[rank as usize]
    }

    /// The rank on a slot.
    #[inline]
    pub(super) fn rank(&self, slot: u32) -> u32 {
        self.ranks[slot as usize]
    }

    /// The code of a rank's slot.
    #[inline]
    pub(super) fn code(&self, rank: u32) -> u64 {
        self.codes[rank as usize]
    }

    /// Byte distance plus the overload penalty.
    pub(super) fn cost(&self) -> f64 {
        let of_rank = |rank: u32| {
            let own = self.codes[rank as usize];
            self.graph.arcs(rank).map(|(to, weight)| weight as f64 * self.tree.distance(own, self.codes[to as usize])).sum::<f64>()
        };
        (0..self.slots.len() as u32).map(of_rank).sum::<f64>() / 2.0 + self.loads.as_ref().map_or(0.0, DomainLoads::cost)
    }

    /// Decrease of the cost if two ranks swap.
    #[inline]
    pub(super) fn gain(&self, a: u32, b: u32) -> f64 {
        let (at_a, at_b) = (self.codes[a as usize], self.codes[b as usize]);
        let relief = self.loads.as_ref().map_or(0.0, |loads| loads.gain([a, b], [a, b].map(|rank| self.slot(rank))));
        self.move_gain(a, b, at_a, at_b) + self.move_gain(b, a, at_b, at_a) + relief
    }

    #[inline]
    fn move_gain(&self, rank: u32, other: u32, from: u64, to: u64) -> f64 {
        let mut gain = 0.0;
        for (neighbour, weight) in self.graph.arcs(rank) {
            if neighbour != other {
                let at = self.codes[neighbour as usize];
                gain += weight as f64 * (self.tree.distance(from, at) - self.tree.distance(to, at));
            }
        }
        gain
    }

    /// Swaps two ranks.
    pub(super) fn swap(&mut self, a: u32, b: u32) {
        let slots = [a, b].map(|rank| self.slot(rank));
        if let Some(loads) = &mut self.loads {
            loads.swap([a, b], slots);
        }
        self.slots.swap(a as usize, b as usize);
        self.codes.swap(a as usize, b as usize);
        self.ranks.swap(self.slots[a as usize] as usize, self.slots[b as usize] as usize);
    }
}
