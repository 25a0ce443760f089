//! Algorithms in which what a member knows doubles with every round.

use std::ops::Range;

use super::Party;
use super::piece::{Parts, Piece, Sheet};
use super::seats::{Seats, Stays};
use super::shape::levels;

/// Barrier: in round k everyone tells the member 2^k places on.
pub(super) fn dissemination(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= levels(party.size) {
        return false;
    }
    sheet.send(party.after(party.here, 1 << index), Piece::NOTHING);
    sheet.receive(party.before(party.here, 1 << index), Piece::NOTHING);
    true
}

/// Barrier: in round k everyone meets the member whose place differs in bit k. Members beyond the power of two first tell the one so many
/// places below, and hear from it in the end.
pub(super) fn barrier(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let steps = party.size.max(1).ilog2();
    let (inside, fold) = (1 << steps, u32::from(!party.size.is_power_of_two()));
    let (above, below) = (party.here.checked_add(inside).filter(|above| *above < party.size), party.here.checked_sub(inside));
    match index.checked_sub(fold) {
        None => {
            below.iter().for_each(|below| sheet.send(*below, Piece::NOTHING));
            above.iter().for_each(|above| sheet.receive(*above, Piece::NOTHING));
        }
        Some(step) if step < steps && below.is_none() => {
            sheet.send(party.here ^ (1 << step), Piece::NOTHING);
            sheet.receive(party.here ^ (1 << step), Piece::NOTHING);
        }
        Some(step) if step == steps && fold > 0 => {
            below.iter().for_each(|below| sheet.receive(*below, Piece::NOTHING));
            above.iter().for_each(|above| sheet.send(*above, Piece::NOTHING));
        }
        Some(_) => {}
    }
    index < steps + 2 * fold
}

/// Allreduce: in round k everyone exchanges the vector with the one whose seat differs in bit k.
pub(super) fn allreduce(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (seats, vector) = (Seats::of(party.size, Stays::Odd), Piece::whole(party.bytes));
    let fold = u32::from(seats.has_pairs());
    match index.checked_sub(fold) {
        None => seats.fold(party, vector, sheet),
        Some(step) if step < seats.steps => {
            if let Some(seat) = seats.seat(party.here) {
                let other = seats.member(seat ^ (1 << step));
                sheet.send(other, vector);
                sheet.combine(other, vector);
            }
        }
        Some(step) if step == seats.steps && fold > 0 => seats.unfold(party, |_| vector, sheet),
        Some(_) => return false,
    }
    true
}

/// Scan: in round k everyone exchanges what it has combined so far with the member whose place differs in bit k, if there is one. What
/// comes from below belongs to the result too.
pub(super) fn scan(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= levels(party.size) {
        return false;
    }
    let (other, vector) = (party.here ^ (1 << index), Piece::whole(party.bytes));
    if other < party.size {
        sheet.send(other, vector);
        sheet.combine(other, vector);
        if other < party.here {
            sheet.compute(party.bytes);
        }
    }
    true
}

/// Allgather: in round k everyone exchanges all it has with the member whose place differs in bit k. Without a power of two, as [`bruck`].
pub(super) fn allgather(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if !party.size.is_power_of_two() {
        return bruck(party, index, sheet);
    }
    if index >= party.size.ilog2() {
        return false;
    }
    let (blocks, count) = (Parts::blocks(party.bytes, party.size), 1 << index);
    let other = party.here ^ count;
    sheet.send(other, blocks.run(party.here & !(count - 1), count));
    sheet.receive(other, blocks.run(other & !(count - 1), count));
    true
}

/// Allgather: in round k everyone sends all it has 2^k places back; in the last round, what is still missing there.
pub(super) fn bruck(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= levels(party.size) {
        return false;
    }
    let (blocks, step) = (Parts::blocks(party.bytes, party.size), 1 << index);
    let count = step.min(party.size - step);
    let from = party.after(party.here, step);
    sheet.send(party.before(party.here, step), blocks.run(party.here, count));
    sheet.receive(from, blocks.run(from, count));
    true
}

/// Reduce-scatter: at each level everyone exchanges all blocks that the other's half still needs. Operands stay in order.
pub(super) fn reduce_scatter(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let Some(level) = Level::of(party.here, party.size, index) else { return false };
    let blocks = Parts::blocks(party.bytes, party.size);
    let without = |half: Range<u32>| blocks.run(half.end % party.size, party.size - (half.end - half.start));
    match level.deed {
        Deed::Exchange(other) => {
            sheet.send(other, without(level.own));
            sheet.combine(other, without(level.others));
        }
        Deed::Give(to) => sheet.forward(to, without(level.others)),
        Deed::Take(from) => sheet.combine(from, without(level.others)),
        Deed::Rest => {}
    }
    true
}

/// A round of recursive doubling among any number of members: at each level halves of twice the size meet. Without a power of two the upper
/// half may not be full; those of the lower half who have nobody opposite then get its data from the others, in further rounds.
pub(super) struct Level {
    /// The members of the half that this one belongs to.
    pub own: Range<u32>,
    /// Those of the half that it meets.
    pub others: Range<u32>,
    pub deed: Deed,
}

/// What a member does in such a round.
pub(super) enum Deed {
    /// It exchanges what the halves have with this one.
    Exchange(u32),
    /// It gives this one what the others had.
    Give(u32),
    /// It takes that from this one.
    Take(u32),
    Rest,
}

impl Level {
    /// The level of a round, and what a member does in it; `None` after the last round.
    pub fn of(at: u32, size: u32, index: u32) -> Option<Level> {
        let (level, mend) = level_and_mend(size, index)?;
        let width = 1 << level;
        let half = |member: u32| {
            let first = member & !(width - 1);
            first.min(size)..(first + width).min(size)
        };
        let (own, others, opposite) = (half(at), half(at ^ width), at ^ width);
        let deed = match mend {
            None if opposite < size => Deed::Exchange(opposite),
            Some(bit) if others.start > at && others.end - others.start < width => mending(at, bit, others.end - others.start),
            _ => Deed::Rest,
        };
        Some(Level { own, others, deed })
    }
}

/// The first `complete` members of a half had somebody opposite. In ever smaller branches, those that have the data give it to those who are
/// this bit away and do not.
fn mending(at: u32, bit: u32, complete: u32) -> Deed {
    let (reach, peer) = (1 << bit, at ^ (1 << bit));
    let limit = (at & !(2 * reach - 1)) + complete;
    match (at < limit, peer < limit) {
        (true, false) => Deed::Give(peer),
        (false, true) => Deed::Take(peer),
        _ => Deed::Rest,
    }
}

/// The level of a round, and the bit by which it mends; none if it is the exchange of the level.
fn level_and_mend(size: u32, index: u32) -> Option<(u32, Option<u32>)> {
    if size.is_power_of_two() {
        return (index < levels(size)).then_some((index, None));
    }
    let mut left = index;
    for level in 0..levels(size) {
        if left <= level {
            return Some((level, left.checked_sub(1).map(|done| level - 1 - done)));
        }
        left -= level + 1;
    }
    None
}
