//! Trees of ranks with rank 0 at the root.

use std::fmt;

/// How a tree branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Binomial: the parent lacks the lowest bit of a rank.
    Lowest,
    /// Binomial: the parent lacks the highest bit of a rank.
    Highest,
    /// Each rank has so many children, and they follow each other.
    Heap(u32),
}

impl Tree {
    /// Those worth trying.
    pub const ALL: [Tree; 5] = [Tree::Lowest, Tree::Highest, Tree::Heap(2), Tree::Heap(3), Tree::Heap(4)];

    /// The parent of a rank; the root has none.
    pub fn parent(self, rank: u32) -> Option<u32> {
        let last = rank.checked_sub(1)?;
        Some(match self {
            Tree::Lowest => rank & last,
            Tree::Highest => rank ^ 1 << rank.ilog2(),
            Tree::Heap(children) => last / children,
        })
    }

    /// The child with a number, among so many ranks.
    pub fn child(self, rank: u32, ranks: u32, number: u32) -> Option<u32> {
        let bit = |place: u32| 1u32.checked_shl(place);
        let child = match self {
            Tree::Lowest if rank != 0 && number >= rank.trailing_zeros() => None,
            Tree::Lowest => rank.checked_add(bit(number)?),
            Tree::Highest => rank.checked_add(bit(rank.checked_ilog2().map_or(0, |highest| highest + 1) + number)?),
            Tree::Heap(children) if number >= children => None,
            Tree::Heap(children) => rank.checked_mul(children)?.checked_add(1 + number),
        };
        child.filter(|child| *child < ranks)
    }

    /// How many children a rank has.
    pub fn children(self, rank: u32, ranks: u32) -> u32 {
        (0..).take_while(|number| self.child(rank, ranks, *number).is_some()).count() as u32
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Lowest | Tree::Highest => write!(f, "binomial tree"),
            Tree::Heap(children) => write!(f, "tree with {children} children each"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_root_is_the_child_of_its_parent() {
        for (tree, ranks) in Tree::ALL.into_iter().flat_map(|tree| [1, 2, 7, 16, 33].map(|ranks| (tree, ranks))) {
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
