//! Algorithms in which the data of a rank doubles with every round.

use std::ops::Range;

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};
use crate::power_of_two::{PairSurvivor, PowerOfTwoGroup};
use crate::tree_shape::ceil_log2;

/// Barrier: in round k, notify rank + 2^k.
pub(crate) fn dissemination(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= ceil_log2(participant.size) {
        return false;
    }
    builder.send(participant.after(participant.rank, 1 << index), ByteRange::EMPTY);
    builder.receive(participant.before(participant.rank, 1 << index), ByteRange::EMPTY);
    true
}

/// Barrier: in round k, exchange with the rank that differs in bit k. Ranks beyond the power of two first notify a partner inside it and
/// are notified at the end.
pub(crate) fn barrier(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let steps = participant.size.max(1).ilog2();
    let (inside, fold) = (1 << steps, u32::from(!participant.size.is_power_of_two()));
    let (above, below) =
        (participant.rank.checked_add(inside).filter(|above| *above < participant.size), participant.rank.checked_sub(inside));
    match index.checked_sub(fold) {
        None => {
            below.iter().for_each(|below| builder.send(*below, ByteRange::EMPTY));
            above.iter().for_each(|above| builder.receive(*above, ByteRange::EMPTY));
        }
        Some(step) if step < steps && below.is_none() => {
            builder.send(participant.rank ^ (1 << step), ByteRange::EMPTY);
            builder.receive(participant.rank ^ (1 << step), ByteRange::EMPTY);
        }
        Some(step) if step == steps && fold > 0 => {
            below.iter().for_each(|below| builder.receive(*below, ByteRange::EMPTY));
            above.iter().for_each(|above| builder.send(*above, ByteRange::EMPTY));
        }
        Some(_) => {}
    }
    index < steps + 2 * fold
}

/// Allreduce: in round k, exchange the vector with the new rank that differs in bit k.
pub(crate) fn allreduce(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (group, vector) = (PowerOfTwoGroup::new(participant.size, PairSurvivor::Odd), ByteRange::whole(participant.bytes));
    let fold = u32::from(group.has_pairs());
    match index.checked_sub(fold) {
        None => group.fold(participant, vector, builder),
        Some(step) if step < group.log2_size => {
            if let Some(new_rank) = group.new_rank(participant.rank) {
                let other = group.old_rank(new_rank ^ (1 << step));
                builder.send(other, vector);
                builder.combine(other, vector);
            }
        }
        Some(step) if step == group.log2_size && fold > 0 => group.unfold(participant, |_| vector, builder),
        Some(_) => return false,
    }
    true
}

/// Scan: in round k, exchange the partial result with the rank that differs in bit k, if there is one. What comes from lower ranks also
/// enters the result.
pub(crate) fn scan(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= ceil_log2(participant.size) {
        return false;
    }
    let (other, vector) = (participant.rank ^ (1 << index), ByteRange::whole(participant.bytes));
    if other < participant.size {
        builder.send(other, vector);
        builder.combine(other, vector);
        if other < participant.rank {
            builder.compute(participant.bytes);
        }
    }
    true
}

/// Allgather: in round k, exchange all blocks with the rank that differs in bit k. Other than powers of two use [`bruck`].
pub(crate) fn allgather(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if !participant.size.is_power_of_two() {
        return bruck(participant, index, builder);
    }
    if index >= participant.size.ilog2() {
        return false;
    }
    let (blocks, count) = (DataPartition::blocks(participant.bytes, participant.size), 1 << index);
    let other = participant.rank ^ count;
    builder.send(other, blocks.wrapping_range(participant.rank & !(count - 1), count));
    builder.receive(other, blocks.wrapping_range(other & !(count - 1), count));
    true
}

/// Allgather: in round k, send all blocks to rank - 2^k; in the last round, only the missing ones.
pub(crate) fn bruck(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    if index >= ceil_log2(participant.size) {
        return false;
    }
    let (blocks, step) = (DataPartition::blocks(participant.bytes, participant.size), 1 << index);
    let count = step.min(participant.size - step);
    let from = participant.after(participant.rank, step);
    builder.send(participant.before(participant.rank, step), blocks.wrapping_range(participant.rank, count));
    builder.receive(from, blocks.wrapping_range(from, count));
    true
}

/// Reduce-scatter: at each level, exchange all blocks that the other half still needs. Operands stay in order.
pub(crate) fn reduce_scatter(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let Some(level) = DoublingRound::new(participant.rank, participant.size, index) else { return false };
    let blocks = DataPartition::blocks(participant.bytes, participant.size);
    let without = |half: Range<u32>| blocks.wrapping_range(half.end % participant.size, participant.size - (half.end - half.start));
    match level.step {
        DoublingStep::Exchange(other) => {
            builder.send(other, without(level.own_half));
            builder.combine(other, without(level.other_half));
        }
        DoublingStep::Send(to) => builder.forward(to, without(level.other_half)),
        DoublingStep::Receive(from) => builder.combine(from, without(level.other_half)),
        DoublingStep::Idle => {}
    }
    true
}

/// One round of recursive doubling for any group size: at each level, halves of twice the size exchange. Without a power of two the upper
/// half may be incomplete; ranks of the lower half without a partner get its data from others, in extra rounds.
pub(crate) struct DoublingRound {
    /// Ranks of this half.
    pub own_half: Range<u32>,
    /// Ranks of the other half.
    pub other_half: Range<u32>,
    pub step: DoublingStep,
}

/// Action of a rank in such a round.
pub(crate) enum DoublingStep {
    /// Exchange the data of both halves with this rank.
    Exchange(u32),
    /// Send the data of the other half to this rank.
    Send(u32),
    /// Receive the data of the other half from this rank.
    Receive(u32),
    Idle,
}

impl DoublingRound {
    /// The given round for rank `at`; `None` after the last round.
    pub(crate) fn new(at: u32, size: u32, index: u32) -> Option<DoublingRound> {
        let (level, fixup) = level_and_fixup(size, index)?;
        let width = 1 << level;
        let half = |member: u32| {
            let first = member & !(width - 1);
            first.min(size)..(first + width).min(size)
        };
        let (own, others, opposite) = (half(at), half(at ^ width), at ^ width);
        let step = match fixup {
            None if opposite < size => DoublingStep::Exchange(opposite),
            Some(bit) if others.start > at && others.end - others.start < width => fixup_step(at, bit, others.end - others.start),
            _ => DoublingStep::Idle,
        };
        Some(DoublingRound { own_half: own, other_half: others, step })
    }
}

/// The first `complete` ranks of a half had a partner. In shrinking subtrees, ranks that have the data send it to those that differ in this
/// bit and lack it.
fn fixup_step(at: u32, bit: u32, complete: u32) -> DoublingStep {
    let (reach, peer) = (1 << bit, at ^ (1 << bit));
    let limit = (at & !(2 * reach - 1)) + complete;
    match (at < limit, peer < limit) {
        (true, false) => DoublingStep::Send(peer),
        (false, true) => DoublingStep::Receive(peer),
        _ => DoublingStep::Idle,
    }
}

/// Level of a round, and the bit of its fix-up; `None` for the exchange itself.
fn level_and_fixup(size: u32, index: u32) -> Option<(u32, Option<u32>)> {
    if size.is_power_of_two() {
        return (index < ceil_log2(size)).then_some((index, None));
    }
    let mut remaining = index;
    for level in 0..ceil_log2(size) {
        if remaining <= level {
            return Some((level, remaining.checked_sub(1).map(|done| level - 1 - done)));
        }
        remaining -= level + 1;
    }
    None
}
