//! Folding to a power of two, for algorithms that pair ranks by bits. The first ranks form pairs; one of each pair hands its data to the
//! other, which takes part for both. Remaining ranks get new ranks, as in MPICH.

use crate::Participant;
use crate::byte_range::{ByteRange, DataPartition, RoundBuilder};

/// Which rank of a pair takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairSurvivor {
    Even,
    Odd,
}

/// The ranks that take part, with new ranks from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerOfTwoGroup {
    /// log2 of their number.
    pub log2_size: u32,
    n_pairs: u32,
    survivor: PairSurvivor,
}

impl PowerOfTwoGroup {
    pub(crate) fn new(size: u32, survivor: PairSurvivor) -> PowerOfTwoGroup {
        let log2_size = size.max(1).ilog2();
        PowerOfTwoGroup { log2_size, n_pairs: size - (1 << log2_size), survivor }
    }

    /// Number of new ranks.
    pub(crate) const fn size(self) -> u32 {
        1 << self.log2_size
    }

    /// Whether there are pairs, so that folding and unfolding are needed.
    pub(crate) const fn has_pairs(self) -> bool {
        self.n_pairs > 0
    }

    /// The other rank of a pair.
    pub(crate) const fn partner(self, rank: u32) -> Option<u32> {
        if rank < 2 * self.n_pairs { Some(rank ^ 1) } else { None }
    }

    /// New rank, if the rank takes part.
    pub(crate) fn new_rank(self, rank: u32) -> Option<u32> {
        if rank >= 2 * self.n_pairs {
            return Some(rank - self.n_pairs);
        }
        ((rank & 1 == 1) == (self.survivor == PairSurvivor::Odd)).then_some(rank / 2)
    }

    /// Rank in the group.
    pub(crate) fn old_rank(self, new_rank: u32) -> u32 {
        if new_rank < self.n_pairs { 2 * new_rank + u32::from(self.survivor == PairSurvivor::Odd) } else { new_rank + self.n_pairs }
    }

    /// First block that a new rank is responsible for.
    pub(crate) const fn first_block(self, new_rank: u32) -> u32 {
        if new_rank < self.n_pairs { 2 * new_rank } else { new_rank + self.n_pairs }
    }

    /// Ranks that drop out send their vector to their partner.
    pub(crate) fn fold(self, participant: &Participant, vector: ByteRange, builder: &mut impl RoundBuilder) {
        match (self.partner(participant.rank), self.new_rank(participant.rank)) {
            (Some(partner), Some(_)) => builder.combine(partner, vector),
            (Some(partner), None) => builder.send(partner, vector),
            (None, _) => {}
        }
    }

    /// As [`PowerOfTwoGroup::fold`], in two rounds with both ranks reducing one half; then the remaining rank gets the other half.
    pub(crate) fn fold_halves(self, participant: &Participant, round: u32, builder: &mut impl RoundBuilder) {
        let Some(partner) = self.partner(participant.rank) else { return };
        let halves = DataPartition::even(participant.bytes, 2);
        let (kept, given) = (halves.part(0_u32), halves.part(1_u32));
        match (round, self.new_rank(participant.rank)) {
            (0, Some(_)) => {
                builder.send(partner, given);
                builder.combine(partner, kept);
            }
            (0, None) => {
                builder.send(partner, kept);
                builder.combine(partner, given);
            }
            (_, Some(_)) => builder.receive(partner, given),
            (_, None) => builder.send(partner, given),
        }
    }

    /// Ranks that dropped out get the result from their partner.
    pub(crate) fn unfold(self, participant: &Participant, result: impl Fn(u32) -> ByteRange, builder: &mut impl RoundBuilder) {
        match (self.partner(participant.rank), self.new_rank(participant.rank)) {
            (Some(partner), Some(_)) => builder.send(partner, result(partner)),
            (Some(partner), None) => builder.receive(partner, result(participant.rank)),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_members_share_seats_and_the_others_have_one_each() {
        let group = |stays| (0..6).map(|rank| PowerOfTwoGroup::new(6, stays).new_rank(rank)).collect::<Vec<_>>();
        assert_eq!(group(PairSurvivor::Odd), [None, Some(0), None, Some(1), Some(2), Some(3)]);
        assert_eq!(group(PairSurvivor::Even), [Some(0), None, Some(1), None, Some(2), Some(3)]);
        assert!((0..8).all(|rank| PowerOfTwoGroup::new(8, PairSurvivor::Odd).new_rank(rank) == Some(rank)));
    }

    #[test]
    fn new_rank_and_old_rank_are_inverse() {
        for (size, stays) in (1..40).flat_map(|size| [(size, PairSurvivor::Even), (size, PairSurvivor::Odd)]) {
            let group = PowerOfTwoGroup::new(size, stays);
            assert!((0..group.size()).all(|new_rank| group.new_rank(group.old_rank(new_rank)) == Some(new_rank)), "{size} {stays:?}");
        }
    }
}
