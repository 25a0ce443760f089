//! Algorithms in which the part of the vector that a member combines halves with every round, so that in the end each has its own part of
//! the result. Rabenseifner's algorithms then bring the parts together: at everyone, or at the root.

use super::Party;
use super::piece::{Parts, Piece, Sheet};
use super::seats::{Seats, Stays};

/// Whom a member meets first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The next one, then ever farther ones; parts are then in the order of reversed bits.
    Near,
    /// The farthest one, then ever nearer ones.
    Far,
}

/// How those of a power of two who are in pairs give their vectors away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Folding {
    /// One of a pair combines the whole vector; the other one rests.
    Whole,
    /// Both combine one half.
    Halves,
}

impl Folding {
    const fn rounds(self) -> u32 {
        match self {
            Folding::Whole => 1,
            Folding::Halves => 2,
        }
    }
}

/// A vector in as many parts as there are seats.
struct Halving {
    seats: Seats,
    order: Order,
}

impl Halving {
    /// Whom a seat meets in a step.
    fn other(&self, seat: u32, step: u32) -> u32 {
        match self.order {
            Order::Near => seat ^ (1 << step),
            Order::Far => seat ^ (self.seats.count() >> (step + 1)),
        }
    }

    /// The first part and the one after the last that a seat still combines after so many steps.
    fn held(&self, seat: u32, steps: u32) -> (u32, u32) {
        let count = self.seats.count() >> steps;
        let first = match self.order {
            Order::Near => reversed(seat & ((1 << steps) - 1), self.seats.steps),
            Order::Far => seat & !(count - 1),
        };
        (first, first + count)
    }

    /// One step: the other's half for mine.
    fn meet(&self, party: &Party, step: u32, piece: impl Fn((u32, u32)) -> Piece, sheet: &mut impl Sheet) {
        let Some(seat) = self.seats.seat(party.here) else { return };
        let other = self.other(seat, step);
        sheet.send(self.seats.member(other), piece(self.held(other, step + 1)));
        sheet.combine(self.seats.member(other), piece(self.held(seat, step + 1)));
    }
}

/// The lowest bits of a number in reverse order.
const fn reversed(number: u32, bits: u32) -> u32 {
    if bits == 0 { 0 } else { number.reverse_bits() >> (u32::BITS - bits) }
}

fn fold(seats: Seats, folding: Folding, party: &Party, round: u32, sheet: &mut impl Sheet) {
    match folding {
        Folding::Whole => seats.fold(party, Piece::whole(party.bytes), sheet),
        Folding::Halves => seats.fold_halves(party, round, sheet),
    }
}

/// Allreduce: halving, then the same way back with results.
pub(super) fn allreduce(folding: Folding, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let stays = if folding == Folding::Whole { Stays::Odd } else { Stays::Even };
    let seats = Seats::of(party.size, stays);
    let (halving, parts) = (Halving { seats, order: Order::Near }, Parts::even(party.bytes, seats.count()));
    let piece = |(first, end)| parts.range(first, end);
    let folds = if seats.has_pairs() { folding.rounds() } else { 0 };
    match index.checked_sub(folds) {
        None => fold(seats, folding, party, index, sheet),
        Some(step) if step < seats.steps => halving.meet(party, step, piece, sheet),
        Some(step) if step < 2 * seats.steps => {
            let step = 2 * seats.steps - 1 - step;
            if let Some(seat) = seats.seat(party.here) {
                let other = halving.other(seat, step);
                sheet.send(seats.member(other), piece(halving.held(seat, step + 1)));
                sheet.receive(seats.member(other), piece(halving.held(other, step + 1)));
            }
        }
        Some(step) if step == 2 * seats.steps && folds > 0 => seats.unfold(party, |_| Piece::whole(party.bytes), sheet),
        Some(_) => return false,
    }
    true
}

/// Reduce: halving, then the parts go to the root along a binomial tree. If the root does not take part, it gets the seat of the first.
pub(super) fn reduce(folding: Folding, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let seats = Seats::of(party.size, Stays::Even);
    let (halving, parts) = (Halving { seats, order: Order::Near }, Parts::even(party.bytes, seats.count()));
    let piece = |(first, end)| parts.range(first, end);
    let folds = if seats.has_pairs() { folding.rounds() } else { 0 };
    let seat_of_root = seats.seat(party.root);
    let changes = u32::from(seat_of_root.is_none());
    match index.checked_sub(folds) {
        None => fold(seats, folding, party, index, sheet),
        Some(step) if step < seats.steps => halving.meet(party, step, piece, sheet),
        Some(step) if step < seats.steps + changes => {
            if party.here == seats.member(0) {
                sheet.send(party.root, parts.part(0_u32));
            } else if party.here == party.root {
                sheet.receive(seats.member(0), parts.part(0_u32));
            }
        }
        Some(step) if step < 2 * seats.steps + changes => {
            let step = 2 * seats.steps + changes - 1 - step;
            let Some(seat) = seat_after_change(seats, party) else { return true };
            let (root, other) = (seat_of_root.unwrap_or(0), halving.other(seat, step));
            let member = if other == 0 && changes > 0 { party.root } else { seats.member(other) };
            let (is_there, is_on_the_way) = (seat >> step == root >> step, seat >> (step + 1) == root >> (step + 1));
            if is_there {
                sheet.receive(member, piece(halving.held(other, step + 1)));
            } else if is_on_the_way {
                sheet.send(member, piece(halving.held(seat, step + 1)));
            }
        }
        Some(_) => return false,
    }
    true
}

/// Where a member sits once a root without a seat has that of the first.
fn seat_after_change(seats: Seats, party: &Party) -> Option<u32> {
    if seats.seat(party.root).is_some() {
        return seats.seat(party.here);
    }
    if party.here == party.root { Some(0) } else { seats.seat(party.here).filter(|seat| *seat > 0) }
}

/// Reduce-scatter: halving from the farthest, so that everyone ends with its own block.
pub(super) fn reduce_scatter(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let seats = Seats::of(party.size, Stays::Odd);
    let (halving, blocks) = (Halving { seats, order: Order::Far }, Parts::blocks(party.bytes, party.size));
    let fold = u32::from(seats.has_pairs());
    match index.checked_sub(fold) {
        None => seats.fold(party, Piece::whole(blocks.total()), sheet),
        Some(step) if step < seats.steps => halving.meet(party, step, |held| blocks_of(seats, blocks, held), sheet),
        Some(step) if step == seats.steps && fold > 0 => seats.unfold(party, |member| blocks.part(member), sheet),
        Some(_) => return false,
    }
    true
}

/// Reduce-scatter: halving from the nearest; blocks then sit where the bits of their seat are reversed, and go home in one more round.
pub(super) fn butterfly(starts_reversed: bool, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let seats = Seats::of(party.size, Stays::Odd);
    let (halving, blocks) = (Halving { seats, order: Order::Near }, Parts::blocks(party.bytes, party.size));
    let fold = u32::from(seats.has_pairs());
    // With a power of two, members can put their blocks in reversed order before they begin.
    let starts_reversed = starts_reversed && fold == 0;
    match index.checked_sub(fold) {
        None => seats.fold(party, Piece::whole(blocks.total()), sheet),
        Some(step) if step < seats.steps => halving.meet(party, step, |held| blocks_of(seats, blocks, held), sheet),
        Some(step) if step == seats.steps && !starts_reversed => go_home(seats, blocks, party, sheet),
        Some(_) => return false,
    }
    true
}

fn go_home(seats: Seats, blocks: Parts, party: &Party, sheet: &mut impl Sheet) {
    let mirrored = |seat| seats.member(reversed(seat, seats.steps));
    if let Some(seat) = seats.seat(party.here) {
        let home = mirrored(seat);
        if let Some(partner) = seats.partner(home) {
            sheet.send(partner, blocks.part(partner));
        }
        if home != party.here {
            sheet.send(home, blocks.part(home));
            sheet.receive(home, blocks.part(party.here));
        }
    } else if let Some(seat) = seats.partner(party.here).and_then(|partner| seats.seat(partner)) {
        sheet.receive(mirrored(seat), blocks.part(party.here));
    }
}

/// The blocks of all members whose seats are these.
fn blocks_of(seats: Seats, blocks: Parts, (first, end): (u32, u32)) -> Piece {
    blocks.range(seats.first_block(first), seats.first_block(end))
}
