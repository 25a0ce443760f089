//! The binomial tree used by MPI libraries for rooted collectives, shared by all code that enumerates their messages.

/// 1, 2, 4 ... below `limit`.
pub fn powers_of_two(limit: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|bit| 1 << bit).take_while(move |power| *power < limit)
}

/// A binomial tree over the ranks of a group.
///
/// Ranks are counted relative to the root; the parent of a relative rank is the number without its lowest set bit.
#[derive(Clone, Copy)]
pub struct BinomialTree {
    /// Number of ranks.
    pub size: usize,
    /// Rank of the root.
    pub root: usize,
}

impl BinomialTree {
    /// Rank relative to the root.
    fn relative_rank(self, rank: usize) -> usize {
        (rank + self.size - self.root) % self.size
    }

    fn rank_at(self, distance: usize) -> usize {
        (distance + self.root) % self.size
    }

    /// Maximum size of a subtree, including its own root.
    fn subtree_span(self, distance: usize) -> usize {
        if distance == 0 { self.size.next_power_of_two() } else { 1 << distance.trailing_zeros() }
    }

    /// The parent of a rank; `None` for the root.
    pub fn parent(self, rank: usize) -> Option<usize> {
        let relative = self.relative_rank(rank);
        (relative != 0).then(|| self.rank_at(relative - self.subtree_span(relative)))
    }

    /// The children of a rank.
    pub fn children(self, rank: usize) -> impl Iterator<Item = usize> {
        let relative = self.relative_rank(rank);
        powers_of_two(self.subtree_span(relative))
            .map(move |step| relative + step)
            .take_while(move |child| *child < self.size)
            .map(move |child| self.rank_at(child))
    }

    /// Size of the subtree below a rank, including the rank itself.
    pub fn subtree_size(self, rank: usize) -> usize {
        let relative = self.relative_rank(rank);
        self.subtree_span(relative).min(self.size - relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_in_the_branch_of_its_parent_and_of_no_other() {
        for size in [1, 2, 3, 6, 8, 13] {
            let tree = BinomialTree { size, root: size / 2 };
            for rank in 0..size {
                assert!(tree.children(rank).all(|child| tree.parent(child) == Some(rank)), "{rank} of {size}");
                assert_eq!(tree.subtree_size(rank), 1 + tree.children(rank).map(|child| tree.subtree_size(child)).sum::<usize>());
            }
            assert_eq!((tree.parent(tree.root), tree.subtree_size(tree.root)), (None, size));
        }
    }
}
