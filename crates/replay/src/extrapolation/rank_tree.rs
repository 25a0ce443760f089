//! Trees of ranks with root 0.

use std::fmt;

/// Kind of tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankTree {
    /// Binomial: the parent clears the lowest bit.
    BinomialLowBit,
    /// Binomial: the parent clears the highest bit.
    BinomialHighBit,
    /// k-ary with consecutive children.
    KAry(u32),
}

impl RankTree {
    /// Candidates.
    pub(super) const ALL: [RankTree; 5] =
        [RankTree::BinomialLowBit, RankTree::BinomialHighBit, RankTree::KAry(2), RankTree::KAry(3), RankTree::KAry(4)];

    /// Parent of a rank; `None` for the root.
    pub(super) fn parent(self, rank: u32) -> Option<u32> {
        let last = rank.checked_sub(1)?;
        Some(match self {
            RankTree::BinomialLowBit => rank & last,
            RankTree::BinomialHighBit => rank ^ 1 << rank.ilog2(),
            RankTree::KAry(children) => last / children,
        })
    }

    /// The n-th child.
    pub(super) fn child(self, rank: u32, ranks: u32, number: u32) -> Option<u32> {
        let bit = |bit_index: u32| 1u32.checked_shl(bit_index);
        let child = match self {
            RankTree::BinomialLowBit if rank != 0 && number >= rank.trailing_zeros() => None,
            RankTree::BinomialLowBit => rank.checked_add(bit(number)?),
            RankTree::BinomialHighBit => rank.checked_add(bit(rank.checked_ilog2().map_or(0, |highest| highest + 1) + number)?),
            RankTree::KAry(children) if number >= children => None,
            RankTree::KAry(children) => rank.checked_mul(children)?.checked_add(1 + number),
        };
        child.filter(|child| *child < ranks)
    }

    /// Number of children.
    pub(super) fn children(self, rank: u32, ranks: u32) -> u32 {
        (0..).take_while(|number| self.child(rank, ranks, *number).is_some()).count() as u32
    }
}

impl fmt::Display for RankTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankTree::BinomialLowBit | RankTree::BinomialHighBit => write!(f, "binomial tree"),
            RankTree::KAry(children) => write!(f, "tree with {children} children each"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_root_is_the_child_of_its_parent() {
        for (tree, ranks) in RankTree::ALL.into_iter().flat_map(|tree| [1, 2, 7, 16, 33].map(|ranks| (tree, ranks))) {
            assert_eq!(tree.parent(0), None);
            let mut children: Vec<u32> =
                (0..ranks).flat_map(|rank| (0..tree.children(rank, ranks)).map(move |n| tree.child(rank, ranks, n).unwrap())).collect();
            children.sort_unstable();
            assert_eq!(children, (1..ranks).collect::<Vec<_>>(), "{tree:?} of {ranks}");
            for rank in 1..ranks {
                let parent = tree.parent(rank).unwrap();
                assert!((0..tree.children(parent, ranks)).any(|n| tree.child(parent, ranks, n) == Some(rank)));
            }
        }
    }
}
