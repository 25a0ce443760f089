//! Who sits where, and what a swap of two ranks is worth.

use super::burdens::Burdens;
use super::tree::Tree;
use crate::partition::net::Net;

/// Each rank on a slot of its own, and each slot taken.
#[derive(Clone)]
pub(crate) struct Seats<'a> {
    /// What is exchanged.
    pub net: &'a Net,
    /// How far slots are apart.
    pub tree: &'a Tree,
    slots: Vec<u32>,
    ranks: Vec<u32>,
    codes: Vec<u64>,
    burdens: Option<Burdens<'a>>,
}

impl<'a> Seats<'a> {
    /// Ranks on the slots they are given, all different and as many as there are ranks.
    pub fn new(net: &'a Net, tree: &'a Tree, burdens: Option<Burdens<'a>>, slots: Vec<u32>) -> Seats<'a> {
        let mut ranks = vec![0; slots.len()];
        slots.iter().zip(0..).for_each(|(slot, rank)| ranks[*slot as usize] = rank);
        let codes = slots.iter().map(|slot| tree.codes()[*slot as usize]).collect();
        let burdens = burdens.map(|burdens| burdens.with(&slots));
        Seats { net, tree, slots, ranks, codes, burdens }
    }

    /// The slot of each rank.
    pub fn into_slots(self) -> Vec<u32> {
        self.slots
    }

    /// The slot of a rank.
    #[inline]
    pub fn slot(&self, rank: u32) -> u32 {
        self.slots[rank as usize]
    }

    /// The rank on a slot.
    #[inline]
    pub fn rank(&self, slot: u32) -> u32 {
        self.ranks[slot as usize]
    }

    /// The code of the slot of a rank.
    #[inline]
    pub fn code(&self, rank: u32) -> u64 {
        self.codes[rank as usize]
    }

    /// All that is exchanged, times how far; and what too much compute costs.
    pub fn cost(&self) -> f64 {
        let of_rank = |rank: u32| {
            let own = self.codes[rank as usize];
            self.net.arcs(rank).map(|(to, weight)| weight as f64 * self.tree.distance(own, self.codes[to as usize])).sum::<f64>()
        };
        (0..self.slots.len() as u32).map(of_rank).sum::<f64>() / 2.0 + self.burdens.as_ref().map_or(0.0, Burdens::cost)
    }

    /// How much the cost falls when two ranks change places.
    #[inline]
    pub fn gain(&self, a: u32, b: u32) -> f64 {
        let (at_a, at_b) = (self.codes[a as usize], self.codes[b as usize]);
        let relief = self.burdens.as_ref().map_or(0.0, |burdens| burdens.gain([a, b], [a, b].map(|rank| self.slot(rank))));
        self.gain_of_move(a, b, at_a, at_b) + self.gain_of_move(b, a, at_b, at_a) + relief
    }

    #[inline]
    fn gain_of_move(&self, rank: u32, other: u32, from: u64, to: u64) -> f64 {
        let mut gain = 0.0;
        for (neighbour, weight) in self.net.arcs(rank) {
            if neighbour != other {
                let at = self.codes[neighbour as usize];
                gain += weight as f64 * (self.tree.distance(from, at) - self.tree.distance(to, at));
            }
        }
        gain
    }

    /// Two ranks change places.
    pub fn swap(&mut self, a: u32, b: u32) {
        let slots = [a, b].map(|rank| self.slot(rank));
        if let Some(burdens) = &mut self.burdens {
            burdens.swap([a, b], slots);
        }
        self.slots.swap(a as usize, b as usize);
        self.codes.swap(a as usize, b as usize);
        self.ranks.swap(self.slots[a as usize] as usize, self.slots[b as usize] as usize);
    }
}
