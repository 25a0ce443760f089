//! Everyone has a block for everyone else.

use super::Party;
use super::piece::{Parts, Piece, Sheet};
use super::shape::levels;

/// So many blocks go to others at the same time in [`scattered`]: the default of `MPIR_CVAR_ALLTOALL_THROTTLE` in MPICH.
const THROTTLE: u32 = 32;

/// All blocks at once.
pub(super) fn linear(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    in_batches(party.size - 1, party, index, sheet)
}

/// Some blocks at once, then the next ones.
pub(super) fn scattered(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    in_batches(THROTTLE, party, index, sheet)
}

/// One block after the other: in round k to the member k places on.
pub(super) fn pairwise(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    in_batches(1, party, index, sheet)
}

fn in_batches(batch: u32, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let done = index.saturating_mul(batch);
    if done >= party.size - 1 {
        return false;
    }
    for step in done + 1..=(done + batch).min(party.size - 1) {
        sheet.send(party.after(party.here, step), Piece::whole(party.bytes));
        sheet.receive(party.before(party.here, step), Piece::whole(party.bytes));
    }
    true
}

/// Few messages instead of short ways: in round k everyone sends all blocks that still have to go 2^k places on, as one message.
pub(super) fn bruck(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= levels(party.size) {
        return false;
    }
    let step = 1 << index;
    let message = Piece::whole(party.bytes.saturating_mul(numbers_with_bit(index, party.size)));
    sheet.send(party.after(party.here, step), message);
    sheet.receive(party.before(party.here, step), message);
    true
}

/// How many numbers below a limit have this bit.
const fn numbers_with_bit(bit: u32, limit: u32) -> u64 {
    let (half, limit) = (1 << bit, limit as u64);
    limit / (2 * half) * half + (limit % (2 * half)).saturating_sub(half)
}

/// Reduce-scatter: in round k everyone sends the block of the member k places on there, and combines the one it gets with its own.
pub(super) fn reduce_scatter(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    if index >= party.size - 1 {
        return false;
    }
    let (blocks, to) = (Parts::blocks(party.bytes, party.size), party.after(party.here, index + 1));
    sheet.send(to, blocks.part(to));
    sheet.combine(party.before(party.here, index + 1), blocks.part(party.here));
    true
}
