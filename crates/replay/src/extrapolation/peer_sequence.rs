//! Rules for the peers of a rank over the iterations of a loop.

use std::fmt;

use super::group_rule::GroupRule;
use super::peer_rule::PeerRule;
use super::process_grid::RankPosition;
use super::rank_tree::RankTree;

/// A sequence of peers, repeated cyclically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeerSequence {
    /// Members of its group.
    Sweep(GroupRule, SweepOrder),
    /// Those of these peers that exist.
    Each(Vec<PeerRule>),
    /// These peers in turn, or none where one does not exist.
    Cycle(Vec<PeerRule>),
}

/// Order in which a rank visits the members of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweepOrder {
    /// Ascending, including itself.
    Everyone,
    /// Ascending, without itself.
    Others,
    /// Descending, without itself.
    OthersBackwards,
    /// From the next rank on, cyclically.
    Following,
    /// From the previous rank backwards, cyclically.
    Preceding,
    /// From itself on, cyclically.
    FollowingSelf,
    /// From itself backwards, cyclically.
    PrecedingSelf,
    /// rank xor 1, 2, 3, …
    Flips,
    /// rank xor 1, 2, 4, …
    Bits,
    /// rank xor …, 4, 2, 1.
    BitsBackwards,
    /// rank + 1, 2, 4, …, cyclically.
    Doubling,
    /// rank - 1, 2, 4, …, cyclically.
    DoublingBackwards,
    /// Children in a tree.
    Children(RankTree),
    /// Children in a tree, last one first.
    ChildrenBackwards(RankTree),
}

impl SweepOrder {
    fn all() -> Vec<SweepOrder> {
        use SweepOrder::*;
        let mut orders = vec![Bits, BitsBackwards, Doubling, DoublingBackwards, Others, OthersBackwards, Following, Preceding, Flips];
        orders.extend([Everyone, FollowingSelf, PrecedingSelf]);
        orders.extend(RankTree::ALL.iter().flat_map(|tree| [Children(*tree), ChildrenBackwards(*tree)]));
        orders
    }

    fn length(self, own_rank: u32, size: u32) -> u32 {
        use SweepOrder::*;
        match self {
            Everyone | FollowingSelf | PrecedingSelf => size,
            Others | OthersBackwards | Following | Preceding => size - 1,
            Bits | BitsBackwards | Flips if !size.is_power_of_two() => 0,
            Flips => size - 1,
            Bits | BitsBackwards => size.ilog2(),
            Doubling | DoublingBackwards => size.next_power_of_two().ilog2(),
            Children(tree) | ChildrenBackwards(tree) => tree.children(own_rank, size),
        }
    }

    /// The member at position `turn`, which is less than the length.
    fn member_at(self, own_rank: u32, size: u32, turn: u32) -> u32 {
        use SweepOrder::*;
        let around = |by: u64| ((u64::from(own_rank) + by) % u64::from(size)) as u32;
        let back = |by: u32| around(u64::from(size - by % size));
        match self {
            Everyone => turn,
            Others => turn + u32::from(turn >= own_rank),
            OthersBackwards => size - 1 - turn - u32::from(turn + own_rank >= size - 1),
            Following => around(u64::from(turn) + 1),
            FollowingSelf => around(u64::from(turn)),
            Preceding => back(turn + 1),
            PrecedingSelf => back(turn),
            Flips => own_rank ^ (turn + 1),
            Bits => own_rank ^ 1 << turn,
            BitsBackwards => own_rank ^ 1 << (size.ilog2() - 1 - turn),
            Doubling => around(1 << turn),
            DoublingBackwards => back(1 << turn),
            Children(tree) => tree.child(own_rank, size, turn).unwrap_or(own_rank),
            ChildrenBackwards(tree) => tree.child(own_rank, size, tree.children(own_rank, size) - 1 - turn).unwrap_or(own_rank),
        }
    }
}

impl PeerSequence {
    /// All sweeps over these groups.
    pub(super) fn sweeps(groups: &[GroupRule]) -> impl Iterator<Item = PeerSequence> {
        groups
            .iter()
            .filter(|group| **group != GroupRule::OnlySelf)
            .flat_map(|group| SweepOrder::all().into_iter().map(|order| PeerSequence::Sweep(group.clone(), order)))
    }

    /// Length for a rank.
    pub(super) fn length(&self, position: RankPosition) -> u32 {
        match self {
            PeerSequence::Sweep(group, order) => order.length(group.rank_in_group(position), group.size(position)),
            PeerSequence::Each(peers) => peers.iter().filter(|peer| peer.evaluate(position).is_some()).count() as u32,
            PeerSequence::Cycle(peers) => peers.len() as u32,
        }
    }

    /// The peer in an iteration.
    pub(super) fn peer_at(&self, position: RankPosition, iteration: u32) -> Option<u32> {
        let length = self.length(position);
        let turn = iteration.checked_rem(length)?;
        match self {
            PeerSequence::Sweep(group, order) => {
                group.member(position, order.member_at(group.rank_in_group(position), group.size(position), turn))
            }
            PeerSequence::Each(peers) => peers.iter().filter_map(|peer| peer.evaluate(position)).nth(turn as usize),
            PeerSequence::Cycle(peers) => peers[turn as usize].evaluate(position),
        }
    }

    /// Why the rule is undefined for this number of ranks, if it is.
    pub(super) fn inapplicable_reason(&self, position: RankPosition) -> Option<String> {
        match self {
            PeerSequence::Sweep(group, SweepOrder::Bits | SweepOrder::BitsBackwards | SweepOrder::Flips)
                if !group.size(position).is_power_of_two() =>
            {
                Some(format!("{} is not a power of two", group.size(position)))
            }
            PeerSequence::Sweep(..) => None,
            PeerSequence::Each(peers) | PeerSequence::Cycle(peers) => peers.iter().find_map(|peer| peer.inapplicable_reason(position)),
        }
    }
}

impl fmt::Display for PeerSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerSequence::Sweep(group, order) => {
                match order {
                    SweepOrder::Everyone => write!(f, "all ranks in turn"),
                    SweepOrder::Others => write!(f, "all other ranks in turn"),
                    SweepOrder::OthersBackwards => write!(f, "all other ranks in turn, from the last on"),
                    SweepOrder::Following | SweepOrder::FollowingSelf => write!(f, "all other ranks, from the next one on"),
                    SweepOrder::Preceding | SweepOrder::PrecedingSelf => write!(f, "all other ranks, backwards from the one before"),
                    SweepOrder::Flips => write!(f, "all other ranks, as rank xor 1, 2, 3 .."),
                    SweepOrder::Bits => write!(f, "hypercube: rank xor 1, 2, 4 .."),
                    SweepOrder::BitsBackwards => write!(f, "hypercube: rank xor .. 4, 2, 1"),
                    SweepOrder::Doubling => write!(f, "rank + 1, 2, 4 .., periodic"),
                    SweepOrder::DoublingBackwards => write!(f, "rank - 1, 2, 4 .., periodic"),
                    SweepOrder::Children(tree) => write!(f, "children in a {tree}"),
                    SweepOrder::ChildrenBackwards(tree) => write!(f, "children in a {tree}, from the last on"),
                }?;
                if *group == GroupRule::World { Ok(()) } else { write!(f, ", within {group}") }
            }
            PeerSequence::Each(peers) => write!(f, "each existing one of {}", join_rules(peers)),
            PeerSequence::Cycle(peers) => write!(f, "in turn {}", join_rules(peers)),
        }
    }
}

fn join_rules(peers: &[PeerRule]) -> String {
    peers.iter().map(PeerRule::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extrapolation::process_grid::GridRule;

    fn listed(order: SweepOrder, rank: u32, ranks: u32) -> Vec<u32> {
        let grid = GridRule::Row.grid(ranks).unwrap();
        let (position, list) = (RankPosition { rank, rank_count: ranks, grid: &grid }, PeerSequence::Sweep(GroupRule::World, order));
        (0..list.length(position)).map(|turn| list.peer_at(position, turn).unwrap()).collect()
    }

    #[test]
    fn other_ranks_are_visited_in_the_order_of_the_rule() {
        assert_eq!(listed(SweepOrder::Others, 2, 5), [0, 1, 3, 4]);
        assert_eq!(listed(SweepOrder::OthersBackwards, 2, 5), [4, 3, 1, 0]);
        assert_eq!(listed(SweepOrder::Following, 2, 5), [3, 4, 0, 1]);
        assert_eq!(listed(SweepOrder::Preceding, 2, 5), [1, 0, 4, 3]);
        assert_eq!(listed(SweepOrder::Bits, 5, 8), [4, 7, 1]);
        assert_eq!(listed(SweepOrder::BitsBackwards, 5, 8), [1, 7, 4]);
        assert_eq!(listed(SweepOrder::Doubling, 5, 6), [0, 1, 3]);
        assert_eq!(listed(SweepOrder::DoublingBackwards, 0, 6), [5, 4, 2]);
        assert_eq!(listed(SweepOrder::Flips, 1, 4), [0, 3, 2]);
        assert_eq!(listed(SweepOrder::ChildrenBackwards(RankTree::BinomialLowBit), 4, 8), [6, 5]);
    }

    #[test]
    fn neighbours_that_there_are_not_are_left_out() {
        let grid = GridRule::Balanced(vec![0, 1]).grid(6).unwrap();
        let step = |offset: [i32; 2]| PeerRule::Neighbour { offset: offset.to_vec(), wraps: false };
        let list = PeerSequence::Each(vec![step([-1, 0]), step([1, 0]), step([0, -1]), step([0, 1])]);
        let of = |rank| {
            let position = RankPosition { rank, rank_count: 6, grid: &grid };
            (0..list.length(position)).map(|turn| list.peer_at(position, turn).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((of(0), of(3)), (vec![2, 1], vec![1, 5, 2]));
    }
}
