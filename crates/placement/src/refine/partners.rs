//! With whom a rank might change places: all others where they are few, else those that could do with its place.

use sintonia_fit::Random;

use super::board::Board;

/// Finds slots for a rank, and keeps the memory for it.
pub struct Partners {
    /// By slot: for whom it was found last.
    found_for: Vec<u32>,
    call: u32,
    room: Vec<u32>,
}

/// With so few slots, all are tried.
const FEW: u32 = 64;

/// At most so many are tried.
const MOST: usize = 48;

/// At most so many neighbours are asked where they are and with whom they talk.
const NEIGHBOURS: usize = 12;

impl Partners {
    pub fn new(board: &Board) -> Partners {
        Partners { found_for: vec![0; board.fabric.slots() as usize], call: 0, room: Vec::new() }
    }

    /// Slots for a rank; see [`give_back`](Partners::give_back).
    pub fn of(&mut self, rank: u32, board: &Board, random: &mut Random) -> Vec<u32> {
        let mut slots = std::mem::take(&mut self.room);
        slots.clear();
        let own = board.slot(rank);
        if board.fabric.slots() <= FEW {
            slots.extend((0..board.fabric.slots()).filter(|slot| *slot != own));
            return slots;
        }
        self.call += 1;
        self.found_for[own as usize] = self.call;
        self.near_neighbours(rank, board, random, &mut slots);
        self.drawn_to(rank, board, random, &mut slots);
        for _ in 0..MOST / 8 {
            self.find(random.below(board.fabric.slots() as usize) as u32, &mut slots);
        }
        slots
    }

    /// The memory is used again.
    pub fn give_back(&mut self, slots: Vec<u32>) {
        self.room = slots;
    }

    /// Slots on the hosts of neighbours, and of their neighbours: there the rank would be nearer.
    fn near_neighbours(&mut self, rank: u32, board: &Board, random: &mut Random, slots: &mut Vec<u32>) {
        let arcs = board.graph.arcs(rank);
        for arc in some(arcs, NEIGHBOURS, random) {
            let host = board.fabric.slots_of(board.host_of(arc.to));
            for _ in 0..4 {
                self.find(host.start + random.below(host.len()) as u32, slots);
            }
            for next in some(board.graph.arcs(arc.to), 3, random) {
                self.find(board.slot(next.to), slots);
            }
            if slots.len() >= MOST / 2 {
                break;
            }
        }
    }

    /// Slots of ranks elsewhere that talk with ranks on this host: they would be nearer here.
    fn drawn_to(&mut self, rank: u32, board: &Board, random: &mut Random, slots: &mut Vec<u32>) {
        let host = board.host_of(rank);
        let seats = board.fabric.slots_of(host);
        for _ in 0..MOST {
            let Some(mate) = board.rank(seats.start + random.below(seats.len()) as u32) else { continue };
            let arcs = board.graph.arcs(mate);
            if !arcs.is_empty() {
                let drawn = arcs[random.below(arcs.len())].to;
                self.find(board.slot(drawn), slots);
            }
            if slots.len() >= MOST * 7 / 8 {
                break;
            }
        }
    }

    fn find(&mut self, slot: u32, slots: &mut Vec<u32>) {
        if std::mem::replace(&mut self.found_for[slot as usize], self.call) != self.call {
            slots.push(slot);
        }
    }
}

/// Some of many in a row, beginning anywhere.
fn some<'a, T>(all: &'a [T], most: usize, random: &mut Random) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let first = if all.len() > most { random.below(all.len()) } else { 0 };
    all.iter().cycle().skip(first).take(most.min(all.len()))
}
