//! Algorithms in which the part of the vector that a rank reduces halves with every round, until each rank holds its own part of the
//! result. Rabenseifner's algorithms then gather the parts at all ranks or at the root.

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};
use crate::power_of_two::{PairSurvivor, PowerOfTwoGroup};

/// Order of the partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HalvingOrder {
    /// Nearest partner first; parts end up in bit-reversed order.
    NearestFirst,
    /// Farthest partner first.
    FarthestFirst,
}

/// How ranks beyond the power of two contribute their vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoldMode {
    /// One rank of a pair reduces the whole vector; the other is idle.
    Whole,
    /// Each rank of a pair reduces one half.
    Halves,
}

impl FoldMode {
    const fn rounds(self) -> u32 {
        match self {
            FoldMode::Whole => 1,
            FoldMode::Halves => 2,
        }
    }
}

/// Halving of a vector with one part per new rank.
struct HalvingPlan {
    group: PowerOfTwoGroup,
    order: HalvingOrder,
}

impl HalvingPlan {
    /// Partner of a new rank in a step.
    fn partner(&self, new_rank: u32, step: u32) -> u32 {
        match self.order {
            HalvingOrder::NearestFirst => new_rank ^ (1 << step),
            HalvingOrder::FarthestFirst => new_rank ^ (self.group.size() >> (step + 1)),
        }
    }

    /// Range of parts that a new rank still reduces after `steps` steps.
    fn owned_parts(&self, new_rank: u32, steps: u32) -> (u32, u32) {
        let count = self.group.size() >> steps;
        let first = match self.order {
            HalvingOrder::NearestFirst => reverse_low_bits(new_rank & ((1 << steps) - 1), self.group.log2_size),
            HalvingOrder::FarthestFirst => new_rank & !(count - 1),
        };
        (first, first + count)
    }

    /// One step: send the partner's half, reduce one's own.
    fn exchange(&self, participant: &Participant, step: u32, range: impl Fn((u32, u32)) -> ByteRange, builder: &mut impl RoundBuilder) {
        let Some(new_rank) = self.group.new_rank(participant.rank) else { return };
        let other = self.partner(new_rank, step);
        builder.send(self.group.old_rank(other), range(self.owned_parts(other, step + 1)));
        builder.combine(self.group.old_rank(other), range(self.owned_parts(new_rank, step + 1)));
    }
}

/// The lowest bits of a number in reverse order.
const fn reverse_low_bits(number: u32, bits: u32) -> u32 {
    if bits == 0 { 0 } else { number.reverse_bits() >> (u32::BITS - bits) }
}

fn fold(group: PowerOfTwoGroup, folding: FoldMode, participant: &Participant, round: u32, builder: &mut impl RoundBuilder) {
    match folding {
        FoldMode::Whole => group.fold(participant, ByteRange::whole(participant.bytes), builder),
        FoldMode::Halves => group.fold_halves(participant, round, builder),
    }
}

/// Allreduce: reduce-scatter by halving, then allgather in the reverse order.
pub(crate) fn allreduce(folding: FoldMode, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let stays = if folding == FoldMode::Whole { PairSurvivor::Odd } else { PairSurvivor::Even };
    let group = PowerOfTwoGroup::new(participant.size, stays);
    let (halving, parts) = (HalvingPlan { group, order: HalvingOrder::NearestFirst }, DataPartition::even(participant.bytes, group.size()));
    let range = |(first, end)| parts.range(first, end);
    let folds = if group.has_pairs() { folding.rounds() } else { 0 };
    match index.checked_sub(folds) {
        None => fold(group, folding, participant, index, builder),
        Some(step) if step < group.log2_size => halving.exchange(participant, step, range, builder),
        Some(step) if step < 2 * group.log2_size => {
            let step = 2 * group.log2_size - 1 - step;
            if let Some(new_rank) = group.new_rank(participant.rank) {
                let other = halving.partner(new_rank, step);
                builder.send(group.old_rank(other), range(halving.owned_parts(new_rank, step + 1)));
                builder.receive(group.old_rank(other), range(halving.owned_parts(other, step + 1)));
            }
        }
        Some(step) if step == 2 * group.log2_size && folds > 0 => {
            group.unfold(participant, |_| ByteRange::whole(participant.bytes), builder)
        }
        Some(_) => return false,
    }
    true
}

/// Reduce: reduce-scatter by halving, then gather along a binomial tree. A root that was folded away takes the place of new rank 0.
pub(crate) fn reduce(folding: FoldMode, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let group = PowerOfTwoGroup::new(participant.size, PairSurvivor::Even);
    let (halving, parts) = (HalvingPlan { group, order: HalvingOrder::NearestFirst }, DataPartition::even(participant.bytes, group.size()));
    let range = |(first, end)| parts.range(first, end);
    let folds = if group.has_pairs() { folding.rounds() } else { 0 };
    let seat_of_root = group.new_rank(participant.root);
    let changes = u32::from(seat_of_root.is_none());
    match index.checked_sub(folds) {
        None => fold(group, folding, participant, index, builder),
        Some(step) if step < group.log2_size => halving.exchange(participant, step, range, builder),
        Some(step) if step < group.log2_size + changes => {
            if participant.rank == group.old_rank(0) {
                builder.send(participant.root, parts.part(0_u32));
            } else if participant.rank == participant.root {
                builder.receive(group.old_rank(0), parts.part(0_u32));
            }
        }
        Some(step) if step < 2 * group.log2_size + changes => {
            let step = 2 * group.log2_size + changes - 1 - step;
            let Some(new_rank) = new_rank_with_root(group, participant) else { return true };
            let (root, other) = (seat_of_root.unwrap_or(0), halving.partner(new_rank, step));
            let member = if other == 0 && changes > 0 { participant.root } else { group.old_rank(other) };
            let (is_there, is_on_the_way) = (new_rank >> step == root >> step, new_rank >> (step + 1) == root >> (step + 1));
            if is_there {
                builder.receive(member, range(halving.owned_parts(other, step + 1)));
            } else if is_on_the_way {
                builder.send(member, range(halving.owned_parts(new_rank, step + 1)));
            }
        }
        Some(_) => return false,
    }
    true
}

/// New rank of a participant, after a folded root has taken the place of new rank 0.
fn new_rank_with_root(group: PowerOfTwoGroup, participant: &Participant) -> Option<u32> {
    if group.new_rank(participant.root).is_some() {
        return group.new_rank(participant.rank);
    }
    if participant.rank == participant.root { Some(0) } else { group.new_rank(participant.rank).filter(|new_rank| *new_rank > 0) }
}

/// Reduce-scatter: farthest partner first, so that every rank ends with its own block.
pub(crate) fn reduce_scatter(participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let group = PowerOfTwoGroup::new(participant.size, PairSurvivor::Odd);
    let (halving, blocks) =
        (HalvingPlan { group, order: HalvingOrder::FarthestFirst }, DataPartition::blocks(participant.bytes, participant.size));
    let fold = u32::from(group.has_pairs());
    match index.checked_sub(fold) {
        None => group.fold(participant, ByteRange::whole(blocks.total()), builder),
        Some(step) if step < group.log2_size => halving.exchange(participant, step, |owned| blocks_of_ranks(group, blocks, owned), builder),
        Some(step) if step == group.log2_size && fold > 0 => group.unfold(participant, |member| blocks.part(member), builder),
        Some(_) => return false,
    }
    true
}

/// Reduce-scatter: nearest partner first; blocks end in bit-reversed order, and one more round restores it.
pub(crate) fn butterfly(starts_reversed: bool, participant: &Participant, index: u32, builder: &mut impl RoundBuilder) -> bool {
    let group = PowerOfTwoGroup::new(participant.size, PairSurvivor::Odd);
    let (halving, blocks) =
        (HalvingPlan { group, order: HalvingOrder::NearestFirst }, DataPartition::blocks(participant.bytes, participant.size));
    let fold = u32::from(group.has_pairs());
    // With a power of two, ranks can reverse their blocks locally before the first round.
    let starts_reversed = starts_reversed && fold == 0;
    match index.checked_sub(fold) {
        None => group.fold(participant, ByteRange::whole(blocks.total()), builder),
        Some(step) if step < group.log2_size => halving.exchange(participant, step, |owned| blocks_of_ranks(group, blocks, owned), builder),
        Some(step) if step == group.log2_size && !starts_reversed => restore_block_order(group, blocks, participant, builder),
        Some(_) => return false,
    }
    true
}

fn restore_block_order(group: PowerOfTwoGroup, blocks: DataPartition, participant: &Participant, builder: &mut impl RoundBuilder) {
    let mirrored = |new_rank| group.old_rank(reverse_low_bits(new_rank, group.log2_size));
    if let Some(new_rank) = group.new_rank(participant.rank) {
        let home = mirrored(new_rank);
        if let Some(partner) = group.partner(home) {
            builder.send(partner, blocks.part(partner));
        }
        if home != participant.rank {
            builder.send(home, blocks.part(home));
            builder.receive(home, blocks.part(participant.rank));
        }
    } else if let Some(new_rank) = group.partner(participant.rank).and_then(|partner| group.new_rank(partner)) {
        builder.receive(mirrored(new_rank), blocks.part(participant.rank));
    }
}

/// Blocks of all ranks behind a range of new ranks.
fn blocks_of_ranks(group: PowerOfTwoGroup, blocks: DataPartition, (first, end): (u32, u32)) -> ByteRange {
    blocks.range(group.first_block(first), group.first_block(end))
}
