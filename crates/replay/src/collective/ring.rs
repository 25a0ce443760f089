//! Algorithms in which everyone talks to its neighbours in the circle only.

use std::num::NonZeroU64;

use super::Party;
use super::piece::{Parts, Piece, Sheet};

/// Everyone sends a piece of one block on and gets the same of the one before it.
fn step(party: &Party, sent: u32, piece: impl Fn(u32) -> Piece, sheet: &mut impl Sheet) {
    sheet.send(party.after(party.here, 1), piece(sent));
    sheet.receive(party.before(party.here, 1), piece(party.before(sent, 1)));
}

/// Allgather: each block goes once around. With segments, it goes in pieces, one in each round.
pub(super) fn allgather(segment: Option<NonZeroU64>, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let blocks = Parts::blocks(party.bytes, party.size);
    let Some(segment) = segment.filter(|segment| segment.get() < party.bytes) else { return around(party, blocks, index, sheet) };
    let pieces = party.bytes.div_ceil(segment.get());
    let (turn, piece) = (u64::from(index) / pieces, u64::from(index) % pieces);
    if turn >= u64::from(party.size - 1) {
        return false;
    }
    let cut = |block: u32| {
        let block = blocks.part(block);
        block.within(Parts::sized(block.bytes, segment.get()).part(piece))
    };
    step(party, party.before(party.here, turn as u32), cut, sheet);
    true
}

/// Every part of the data goes once around, each beginning at the member that it has the number of.
pub(super) fn around(party: &Party, parts: Parts, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= party.size - 1 {
        return false;
    }
    step(party, party.before(party.here, index), |part| parts.part(part), sheet);
    true
}

/// Allreduce: each part of the vector goes once around and is combined on its way, then once more as the result. With segments, parts are
/// cut into pieces that go around one after the other.
pub(super) fn allreduce(segment: Option<NonZeroU64>, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (steps, parts) = (party.size - 1, Parts::even(party.bytes, party.size));
    let phases = phases(segment, party);
    let combining = phases.saturating_mul(steps);
    if index < combining {
        let (phase, sent) = (index / steps, party.before(party.here, index % steps));
        let cut = |part: u32| {
            let part = parts.part(part);
            part.within(Parts::even(part.bytes, phases).part(phase))
        };
        sheet.send(party.after(party.here, 1), cut(sent));
        sheet.combine(party.before(party.here, 1), cut(party.before(sent, 1)));
    } else if index - combining < steps {
        let sent = party.before(party.after(party.here, 1), index - combining);
        step(party, sent, |part| parts.part(part), sheet);
    } else {
        return false;
    }
    true
}

/// How many pieces of about a segment a part has: what is left makes another one if it is more than half of one.
fn phases(segment: Option<NonZeroU64>, party: &Party) -> u32 {
    let Some(segment) = segment else { return 1 };
    let lap = segment.get().saturating_mul(party.size.into());
    let phases = party.bytes / lap + u64::from(party.bytes % lap > lap / 2);
    u32::try_from(phases).unwrap_or(u32::MAX).max(1)
}

/// Reduce-scatter: each block goes once around to its member and is combined on its way.
pub(super) fn reduce_scatter(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= party.size - 1 {
        return false;
    }
    let (blocks, before) = (Parts::blocks(party.bytes, party.size), party.before(party.here, 1));
    let sent = party.before(before, index);
    sheet.send(party.after(party.here, 1), blocks.part(sent));
    sheet.combine(before, blocks.part(party.before(sent, 1)));
    true
}

/// Barrier: a message goes twice around.
pub(super) fn barrier(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= 4 {
        return false;
    }
    // The first member begins; all others wait for the one before them.
    let sends = index.is_multiple_of(2) == (party.here == 0);
    if sends {
        sheet.send(party.after(party.here, 1), Piece::NOTHING);
    } else {
        sheet.receive(party.before(party.here, 1), Piece::NOTHING);
    }
    true
}

/// Allgather: pairs exchange their blocks, then everyone meets its two neighbours in turn and hands on the two blocks that it got last. An
/// odd number of members goes by the ring.
pub(super) fn neighbor_exchange(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if party.size % 2 == 1 {
        return allgather(None, party, index, sheet);
    }
    let blocks = Parts::blocks(party.bytes, party.size);
    if index >= party.size / 2 {
        return false;
    }
    let is_even = party.here.is_multiple_of(2);
    let goes_on = is_even == index.is_multiple_of(2);
    let other = if goes_on { party.after(party.here, 1) } else { party.before(party.here, 1) };
    if index == 0 {
        sheet.send(other, blocks.part(party.here));
        sheet.receive(other, blocks.part(other));
    } else {
        sheet.send(other, blocks.run(pair_got(party, is_even, index - 1), 2));
        sheet.receive(other, blocks.run(pair_got(party, is_even, index), 2));
    }
    true
}

/// The first block of the pair that a member has got in a round of the neighbour exchange.
fn pair_got(party: &Party, is_even: bool, index: u32) -> u32 {
    let (own, steps) = (party.here & !1, index.next_multiple_of(2));
    if is_even == index.is_multiple_of(2) { party.after(own, steps % party.size) } else { party.before(own, steps % party.size) }
}
