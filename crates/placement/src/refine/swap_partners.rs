//! Candidates for a swap with a rank: all slots if there are few, otherwise promising ones.

use sintonia_fit::SplitMix64;

use super::working_placement::WorkingPlacement;

/// Finds candidate slots and reuses their memory.
pub(super) struct SwapPartners {
    /// By slot: the last call that found it.
    found_for: Vec<u32>,
    call: u32,
    buffer: Vec<u32>,
}

/// With at most this many slots, all are tried.
const ALL_SLOTS_LIMIT: u32 = 64;

/// Maximum number of candidates.
const MAX_PARTNERS: usize = 48;

/// Maximum number of neighbours examined.
const MAX_NEIGHBOURS: usize = 12;

impl SwapPartners {
    pub(super) fn new(placement: &WorkingPlacement) -> SwapPartners {
        SwapPartners { found_for: vec![0; placement.fabric.slot_count() as usize], call: 0, buffer: Vec::new() }
    }

    /// Candidate slots for a rank; see [`recycle`](SwapPartners::recycle).
    pub(super) fn candidate_slots(&mut self, rank: u32, placement: &WorkingPlacement, random: &mut SplitMix64) -> Vec<u32> {
        let mut slots = std::mem::take(&mut self.buffer);
        slots.clear();
        let own = placement.slot(rank);
        if placement.fabric.slot_count() <= ALL_SLOTS_LIMIT {
            slots.extend((0..placement.fabric.slot_count()).filter(|slot| *slot != own));
            return slots;
        }
        self.call += 1;
        self.found_for[own as usize] = self.call;
        self.near_neighbours(rank, placement, random, &mut slots);
        self.attracted_ranks(rank, placement, random, &mut slots);
        for _ in 0..MAX_PARTNERS / 8 {
            self.add_slot(random.index_below(placement.fabric.slot_count() as usize) as u32, &mut slots);
        }
        slots
    }

    /// Returns the memory for reuse.
    pub(super) fn recycle(&mut self, slots: Vec<u32>) {
        self.buffer = slots;
    }

    /// Slots on the hosts of neighbours, and of their neighbours: the rank would be nearer there.
    fn near_neighbours(&mut self, rank: u32, placement: &WorkingPlacement, random: &mut SplitMix64, slots: &mut Vec<u32>) {
        let arcs = placement.graph.arcs(rank);
        for arc in sample_run(arcs, MAX_NEIGHBOURS, random) {
            let host = placement.fabric.host_slots(placement.host_of(arc.to));
            for _ in 0..4 {
                self.add_slot(host.start + random.index_below(host.len()) as u32, slots);
            }
            for next in sample_run(placement.graph.arcs(arc.to), 3, random) {
                self.add_slot(placement.slot(next.to), slots);
            }
            if slots.len() >= MAX_PARTNERS / 2 {
                break;
            }
        }
    }

    /// Slots of ranks elsewhere with neighbours on this host: they would be nearer here.
    fn attracted_ranks(&mut self, rank: u32, placement: &WorkingPlacement, random: &mut SplitMix64, slots: &mut Vec<u32>) {
        let host = placement.host_of(rank);
        let assignment = placement.fabric.host_slots(host);
        for _ in 0..MAX_PARTNERS {
            let Some(mate) = placement.rank(assignment.start + random.index_below(assignment.len()) as u32) else { continue };
            let arcs = placement.graph.arcs(mate);
            if !arcs.is_empty() {
                let drawn = arcs[random.index_below(arcs.len())].to;
                self.add_slot(placement.slot(drawn), slots);
            }
            if slots.len() >= MAX_PARTNERS * 7 / 8 {
                break;
            }
        }
    }

    fn add_slot(&mut self, slot: u32, slots: &mut Vec<u32>) {
        if std::mem::replace(&mut self.found_for[slot as usize], self.call) != self.call {
            slots.push(slot);
        }
    }
}

/// Up to `most` consecutive elements from a random start.
fn sample_run<'a, T>(all: &'a [T], most: usize, random: &mut SplitMix64) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let first = if all.len() > most { random.index_below(all.len()) } else { 0 };
    all.iter().cycle().skip(first).take(most.min(all.len()))
}
