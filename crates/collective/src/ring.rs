//! Algorithms that only use the two neighbours in a ring.

use std::num::NonZeroU64;

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};

/// Sends a range of one block to the next rank and receives the same range of the block before it.
fn ring_step(participant: &Participant, sent: u32, range: impl Fn(u32) -> ByteRange, builder: &mut impl RoundBuilder) {
    builder.send(participant.after(participant.rank, 1), range(sent));
    builder.receive(participant.before(participant.rank, 1), range(participant.before(sent, 1)));
}

/// Allgather: each block passes the ring once; segmented, in one piece per round.
pub(crate) fn allgather(segment: Option<NonZeroU64>, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let blocks = DataPartition::blocks(participant.bytes, participant.size);
    let Some(segment) = segment.filter(|segment| segment.get() < participant.bytes) else {
        return allgather_parts(participant, blocks, index, builder);
    };
    let pieces = participant.bytes.div_ceil(segment.get());
    let (turn, piece) = (u64::from(index) / pieces, u64::from(index) % pieces);
    if turn >= u64::from(participant.size - 1) {
        return false;
    }
    let cut = |block: u32| {
        let block = blocks.part(block);
        block.subrange(DataPartition::with_part_bytes(block.bytes, segment.get()).part(piece))
    };
    ring_step(participant, participant.before(participant.rank, turn as u32), cut, builder);
    true
}

/// Each part passes the ring once, starting at the rank with its number.
pub(crate) fn allgather_parts(participant: &Participant, parts: DataPartition, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= participant.size - 1 {
        return false;
    }
    ring_step(participant, participant.before(participant.rank, index), |part| parts.part(part), builder);
    true
}

/// Allreduce: each part passes the ring once while it is reduced, and once more as the result. Segmented, parts are divided into pieces
/// that pass one after the other.
pub(crate) fn allreduce(segment: Option<NonZeroU64>, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (steps, parts) = (participant.size - 1, DataPartition::even(participant.bytes, participant.size));
    let phases = phase_count(segment, participant);
    let combining = phases.saturating_mul(steps);
    if index < combining {
        let (phase, sent) = (index / steps, participant.before(participant.rank, index % steps));
        let cut = |part: u32| {
            let part = parts.part(part);
            part.subrange(DataPartition::even(part.bytes, phases).part(phase))
        };
        builder.send(participant.after(participant.rank, 1), cut(sent));
        builder.combine(participant.before(participant.rank, 1), cut(participant.before(sent, 1)));
    } else if index - combining < steps {
        let sent = participant.before(participant.after(participant.rank, 1), index - combining);
        ring_step(participant, sent, |part| parts.part(part), builder);
    } else {
        return false;
    }
    true
}

/// Number of pieces per part, rounded to the nearest multiple of the segment size.
fn phase_count(segment: Option<NonZeroU64>, participant: &Participant) -> u32 {
    let Some(segment) = segment else { return 1 };
    let lap = segment.get().saturating_mul(participant.size.into());
    let phases = participant.bytes / lap + u64::from(participant.bytes % lap > lap / 2);
    u32::try_from(phases).unwrap_or(u32::MAX).max(1)
}

/// Reduce-scatter: each block passes the ring once towards its rank while it is reduced.
pub(crate) fn reduce_scatter(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= participant.size - 1 {
        return false;
    }
    let (blocks, before) = (DataPartition::blocks(participant.bytes, participant.size), participant.before(participant.rank, 1));
    let sent = participant.before(before, index);
    builder.send(participant.after(participant.rank, 1), blocks.part(sent));
    builder.combine(before, blocks.part(participant.before(sent, 1)));
    true
}

/// Barrier: a token passes the ring twice.
pub(crate) fn barrier(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= 4 {
        return false;
    }
    // Rank 0 starts; all others wait for their predecessor.
    let sends = index.is_multiple_of(2) == (participant.rank == 0);
    if sends {
        builder.send(participant.after(participant.rank, 1), ByteRange::EMPTY);
    } else {
        builder.receive(participant.before(participant.rank, 1), ByteRange::EMPTY);
    }
    true
}

/// Allgather: pairs exchange their blocks, then each rank exchanges with both neighbours in turn and forwards the two blocks received last.
/// Odd group sizes use the ring.
pub(crate) fn neighbor_exchange(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if participant.size % 2 == 1 {
        return allgather(None, participant, index, builder);
    }
    let blocks = DataPartition::blocks(participant.bytes, participant.size);
    if index >= participant.size / 2 {
        return false;
    }
    let is_even = participant.rank.is_multiple_of(2);
    let goes_on = is_even == index.is_multiple_of(2);
    let other = if goes_on { participant.after(participant.rank, 1) } else { participant.before(participant.rank, 1) };
    if index == 0 {
        builder.send(other, blocks.part(participant.rank));
        builder.receive(other, blocks.part(other));
    } else {
        builder.send(other, blocks.wrapping_range(received_pair(participant, is_even, index - 1), 2));
        builder.receive(other, blocks.wrapping_range(received_pair(participant, is_even, index), 2));
    }
    true
}

/// First block of the pair received in a round of the neighbour exchange.
fn received_pair(participant: &Participant, is_even: bool, index: u32) -> u32 {
    let (own, steps) = (participant.rank & !1, index.next_multiple_of(2));
    if is_even == index.is_multiple_of(2) {
        participant.after(own, steps % participant.size)
    } else {
        participant.before(own, steps % participant.size)
    }
}
