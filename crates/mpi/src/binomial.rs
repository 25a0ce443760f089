//! The binomial tree by which MPI libraries commonly move data between one member of a group and all others: whoever counts or writes out
//! the messages of a collective operation goes by the same one.

/// 1, 2, 4 ... below `limit`.
pub fn powers(limit: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|bit| 1 << bit).take_while(move |power| *power < limit)
}

/// A binomial tree over the places of a group.
///
/// Places are counted on from the root; the parent of a place is then the place without its lowest bit.
#[derive(Clone, Copy)]
pub struct Tree {
    /// How many places there are.
    pub size: usize,
    /// The place of the root.
    pub root: usize,
}

impl Tree {
    /// How far a place is from the root, counting on.
    fn distance(self, place: usize) -> usize {
        (place + self.size - self.root) % self.size
    }

    fn place(self, distance: usize) -> usize {
        (distance + self.root) % self.size
    }

    /// The most places that a branch can have, the one it starts from included.
    fn reach(self, distance: usize) -> usize {
        if distance == 0 { self.size.next_power_of_two() } else { 1 << distance.trailing_zeros() }
    }

    /// The place that a place sends to on the way to the root; the root has none.
    pub fn parent(self, place: usize) -> Option<usize> {
        let at = self.distance(place);
        (at != 0).then(|| self.place(at - self.reach(at)))
    }

    /// The places whose parent it is.
    pub fn children(self, place: usize) -> impl Iterator<Item = usize> {
        let at = self.distance(place);
        powers(self.reach(at)).map(move |step| at + step).take_while(move |child| *child < self.size).map(move |child| self.place(child))
    }

    /// How many places a branch has, the one it starts from included.
    pub fn branch(self, place: usize) -> usize {
        let at = self.distance(place);
        self.reach(at).min(self.size - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_in_the_branch_of_its_parent_and_of_no_other() {
        for size in [1, 2, 3, 6, 8, 13] {
            let tree = Tree { size, root: size / 2 };
            for place in 0..size {
                assert!(tree.children(place).all(|child| tree.parent(child) == Some(place)), "{place} of {size}");
                assert_eq!(tree.branch(place), 1 + tree.children(place).map(|child| tree.branch(child)).sum::<usize>());
            }
            assert_eq!((tree.parent(tree.root), tree.branch(tree.root)), (None, size));
        }
    }
}
