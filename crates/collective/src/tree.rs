//! Collectives along a tree: broadcast, scatter, reduce, gather, and scan along a chain. Large vectors are pipelined in segments.

use std::num::NonZeroU64;

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};
use crate::tree_shape::TreeShape;

/// A vector divided into segments.
struct PipelineSegments {
    count: u64,
    parts: DataPartition,
}

impl PipelineSegments {
    fn new(bytes: u64, segment: Option<NonZeroU64>) -> PipelineSegments {
        match segment.map(NonZeroU64::get) {
            Some(each) if each < bytes => {
                PipelineSegments { count: bytes.div_ceil(each), parts: DataPartition::with_part_bytes(bytes, each) }
            }
            _ => PipelineSegments { count: 1, parts: DataPartition::with_part_bytes(bytes, bytes) },
        }
    }

    /// The segment a rank receives in a round and the one it sends.
    fn at_round(&self, index: u32) -> (Option<ByteRange>, Option<ByteRange>) {
        let index = u64::from(index);
        let begins = (index < self.count).then(|| self.parts.part(index));
        (begins, (1..=self.count).contains(&index).then(|| self.parts.part(index - 1)))
    }
}

/// The vector goes from the root to all ranks.
pub(crate) fn broadcast(
    shape: TreeShape,
    segment: Option<NonZeroU64>,
    participant: &Participant,
    index: u32,
    builder: &mut impl RoundBuilder,
) -> bool {
    let (at, size) = (participant.relative_rank(), participant.size);
    let (received, sent) = PipelineSegments::new(participant.bytes, segment).at_round(index);
    if let Some(range) = received
        && let Some(parent) = shape.parent(at, size)
    {
        builder.receive(participant.absolute_rank(parent), range);
    }
    if let Some(range) = sent {
        shape.children(at, size, |child| builder.send(participant.absolute_rank(child), range));
    }
    received.is_some() || sent.is_some()
}

/// Vectors are reduced on their way to the root.
pub(crate) fn reduce(
    shape: TreeShape,
    segment: Option<NonZeroU64>,
    participant: &Participant,
    index: u32,
    builder: &mut impl RoundBuilder,
) -> bool {
    let (root, size) = (participant.root, participant.size);
    let participant = &Participant { root: shape.root_rank(root, size), ..*participant };
    let (at, segments) = (participant.relative_rank(), PipelineSegments::new(participant.bytes, segment));
    let (received, sent) = segments.at_round(index);
    if let Some(range) = received {
        shape.children(at, size, |child| builder.combine(participant.absolute_rank(child), range));
    }
    if let Some(range) = sent
        && let Some(parent) = shape.parent(at, size)
    {
        builder.send(participant.absolute_rank(parent), range);
    }
    let is_handed_over = root != participant.root && u64::from(index) == segments.count + 1;
    if is_handed_over {
        send_piece(participant.rank, participant.root, root, ByteRange::whole(participant.bytes), builder);
    }
    received.is_some() || sent.is_some() || is_handed_over
}

/// Number of rounds of [`reduce`].
pub(crate) fn reduce_rounds(shape: TreeShape, segment: Option<NonZeroU64>, participant: &Participant) -> u32 {
    let hops = u64::from(shape.root_rank(participant.root, participant.size) != participant.root);
    u32::try_from(PipelineSegments::new(participant.bytes, segment).count + 1 + hops).unwrap_or(u32::MAX)
}

/// One rank sends a range to another.
fn send_piece(rank: u32, from: u32, to: u32, range: ByteRange, builder: &mut impl RoundBuilder) {
    if rank == from {
        builder.send(to, range);
    } else if rank == to {
        builder.receive(from, range);
    }
}

/// Number of rounds of [`gather`] and [`scatter`].
pub(crate) const BLOCK_ROUNDS: u32 = 2;

/// The blocks of all ranks go to the root.
pub(crate) fn gather(shape: TreeShape, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (at, blocks) = (participant.relative_rank(), DataPartition::blocks(participant.bytes, participant.size));
    let branch = |at| blocks.wrapping_range(participant.absolute_rank(at), shape.subtree_size(at, participant.size));
    match (index, shape.parent(at, participant.size)) {
        (0, _) => shape.children(at, participant.size, |child| builder.receive(participant.absolute_rank(child), branch(child))),
        (1, Some(parent)) => builder.send(participant.absolute_rank(parent), branch(at)),
        _ => {}
    }
    index < BLOCK_ROUNDS
}

/// One block goes from the root to each rank.
pub(crate) fn scatter(shape: TreeShape, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (at, blocks) = (participant.relative_rank(), DataPartition::blocks(participant.bytes, participant.size));
    let branch = |at| blocks.wrapping_range(participant.absolute_rank(at), shape.subtree_size(at, participant.size));
    match (index, shape.parent(at, participant.size)) {
        (0, Some(parent)) => builder.receive(participant.absolute_rank(parent), branch(at)),
        (1, _) => shape.children(at, participant.size, |child| builder.send(participant.absolute_rank(child), branch(child))),
        _ => {}
    }
    index < BLOCK_ROUNDS
}

/// The root requests one block after the other, to avoid congestion. Blocks come in two messages; the second is empty without a limit on
/// the first.
pub(crate) fn gather_sync(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (at, blocks) = (participant.relative_rank(), DataPartition::blocks(participant.bytes, participant.size));
    match (at, index) {
        (0, _) if index < participant.size - 1 => {
            let member = if index < participant.root { index } else { index + 1 };
            builder.send(member, ByteRange::EMPTY);
            builder.receive(member, blocks.part(member));
            builder.receive(member, ByteRange::EMPTY);
        }
        (0, _) => return false,
        (_, 0) => builder.receive(participant.root, ByteRange::EMPTY),
        (_, 1) => {
            builder.send(participant.root, blocks.part(participant.rank));
            builder.send(participant.root, ByteRange::EMPTY);
        }
        _ => return false,
    }
    true
}

/// Each rank forwards the reduced vector to the next one.
pub(crate) fn scan(keeps_own: bool, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let (vector, is_last) = (ByteRange::whole(participant.bytes), participant.rank + 1 == participant.size);
    match index {
        0 if participant.rank > 0 && is_last && !keeps_own => builder.receive(participant.rank - 1, vector),
        0 if participant.rank > 0 => builder.combine(participant.rank - 1, vector),
        1 if !is_last => builder.send(participant.rank + 1, vector),
        _ => {}
    }
    index < 2
}
