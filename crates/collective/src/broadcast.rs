//! Broadcast algorithms for large vectors: the root distributes parts, and the ranks exchange them.

use std::ops::Range;

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};
use crate::doubling::{DoublingRound, DoublingStep};
use crate::ring;
use crate::tree::BLOCK_ROUNDS;
use crate::tree_shape::TreeShape;

/// The vector in equal parts, one per rank relative to the root; if it is short, the last ones are empty.
fn equal_parts(participant: &Participant) -> DataPartition {
    DataPartition::with_part_bytes(participant.bytes, participant.bytes.div_ceil(participant.size.into()))
}

/// Scatter along a binomial tree; empty subtrees get no message.
fn scatter(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) {
    let (at, parts) = (participant.relative_rank(), equal_parts(participant));
    let branch = |at| Some(parts.range(at, at + TreeShape::Binomial.subtree_size(at, participant.size))).filter(|range| range.bytes > 0);
    match (index, TreeShape::Binomial.parent(at, participant.size)) {
        (0, Some(parent)) => branch(at).into_iter().for_each(|range| builder.receive(participant.absolute_rank(parent), range)),
        (1, _) => TreeShape::Binomial.children(at, participant.size, |child| {
            branch(child).into_iter().for_each(|range| builder.send(participant.absolute_rank(child), range));
        }),
        _ => {}
    }
}

/// Scatter, then ring allgather.
pub(crate) fn scatter_ring(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let Some(index) = index.checked_sub(BLOCK_ROUNDS) else {
        scatter(participant, index, builder);
        return true;
    };
    let (at, parts) = (participant.relative_rank(), equal_parts(participant));
    let circle = Participant { rank: at, root: 0, ..*participant };
    ring::allgather_parts(&circle, parts, index, &mut RootRelativeBuilder { participant, builder })
}

/// Translates ranks relative to the root into ranks of the group.
struct RootRelativeBuilder<'a, S> {
    participant: &'a Participant,
    builder: &'a mut S,
}

impl<S: RoundBuilder> RoundBuilder for RootRelativeBuilder<'_, S> {
    fn send(&mut self, to: u32, range: ByteRange) {
        self.builder.send(self.participant.absolute_rank(to), range);
    }

    fn forward(&mut self, to: u32, range: ByteRange) {
        self.builder.forward(self.participant.absolute_rank(to), range);
    }

    fn receive(&mut self, from: u32, range: ByteRange) {
        self.builder.receive(self.participant.absolute_rank(from), range);
    }

    fn combine(&mut self, from: u32, range: ByteRange) {
        self.builder.combine(self.participant.absolute_rank(from), range);
    }

    fn compute(&mut self, bytes: u64) {
        self.builder.compute(bytes);
    }
}

/// Scatter, then allgather by recursive doubling.
pub(crate) fn scatter_allgather(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let Some(index) = index.checked_sub(BLOCK_ROUNDS) else {
        scatter(participant, index, builder);
        return true;
    };
    let Some(level) = DoublingRound::new(participant.relative_rank(), participant.size, index) else { return false };
    let parts = equal_parts(participant);
    let held = |half: Range<u32>| parts.range(half.start, half.end);
    match level.step {
        DoublingStep::Exchange(other) => {
            builder.send(participant.absolute_rank(other), held(level.own_half));
            builder.receive(participant.absolute_rank(other), held(level.other_half));
        }
        DoublingStep::Send(to) => builder.send(participant.absolute_rank(to), held(level.other_half)),
        DoublingStep::Receive(from) => builder.receive(participant.absolute_rank(from), held(level.other_half)),
        DoublingStep::Idle => {}
    }
    true
}

/// Each half of the vector goes down one side of a binary tree; then ranks exchange halves with their partner on the other side.
pub(crate) fn split_binary(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (at, halves) = (participant.relative_rank(), DataPartition::with_part_bytes(participant.bytes, participant.bytes.div_ceil(2)));
    // Odd relative ranks are on the first side.
    let half = |at: u32| halves.part((at + 1) % 2);
    let last = participant.size - 1;
    match (index, TreeShape::Binary.parent(at, participant.size)) {
        (0, Some(parent)) => builder.receive(participant.absolute_rank(parent), half(at)),
        (1, _) => TreeShape::Binary.children(at, participant.size, |child| builder.send(participant.absolute_rank(child), half(child))),
        (2, None) if last % 2 == 1 => builder.send(participant.absolute_rank(last), half(0)),
        (2, None) => {}
        // The last rank has no partner if it is on the first side: the root serves it.
        (2, Some(_)) if at == last && last % 2 == 1 => builder.receive(participant.root, half(0)),
        (2, Some(_)) => {
            let other = if at % 2 == 1 { at + 1 } else { at - 1 };
            builder.send(participant.absolute_rank(other), half(at));
            builder.receive(participant.absolute_rank(other), half(other));
        }
        _ => {}
    }
    index < 3
}
