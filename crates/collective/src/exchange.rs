//! Alltoall and pairwise reduce-scatter: every rank has a block for every other.

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};
use crate::tree_shape::ceil_log2;

/// Concurrent blocks in [`alltoall_scattered`]: default of `MPIR_CVAR_ALLTOALL_THROTTLE` in MPICH.
const THROTTLE: u32 = 32;

/// All blocks at once.
pub(crate) fn alltoall_linear(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    alltoall_in_batches(participant.size - 1, participant, index, builder)
}

/// Blocks in batches.
pub(crate) fn alltoall_scattered(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    alltoall_in_batches(THROTTLE, participant, index, builder)
}

/// One block at a time: in round k, to rank + k.
pub(crate) fn alltoall_pairwise(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    alltoall_in_batches(1, participant, index, builder)
}

fn alltoall_in_batches(batch: u32, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let done = index.saturating_mul(batch);
    if done >= participant.size - 1 {
        return false;
    }
    for step in done + 1..=(done + batch).min(participant.size - 1) {
        builder.send(participant.after(participant.rank, step), ByteRange::whole(participant.bytes));
        builder.receive(participant.before(participant.rank, step), ByteRange::whole(participant.bytes));
    }
    true
}

/// Fewer messages over more hops: in round k, send all blocks that still have to move by 2^k ranks as one message.
pub(crate) fn alltoall_bruck(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= ceil_log2(participant.size) {
        return false;
    }
    let step = 1 << index;
    let message = ByteRange::whole(participant.bytes.saturating_mul(count_with_bit(index, participant.size)));
    builder.send(participant.after(participant.rank, step), message);
    builder.receive(participant.before(participant.rank, step), message);
    true
}

/// How many numbers below `limit` have this bit set.
const fn count_with_bit(bit: u32, limit: u32) -> u64 {
    let (half, limit) = (1 << bit, limit as u64);
    limit / (2 * half) * half + (limit % (2 * half)).saturating_sub(half)
}

/// Reduce-scatter: in round k, send the block of rank + k to it and reduce the received one.
pub(crate) fn reduce_scatter(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= participant.size - 1 {
        return false;
    }
    let (blocks, to) = (DataPartition::blocks(participant.bytes, participant.size), participant.after(participant.rank, index + 1));
    builder.send(to, blocks.part(to));
    builder.combine(participant.before(participant.rank, index + 1), blocks.part(participant.rank));
    true
}
