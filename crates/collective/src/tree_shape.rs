//! Trees over the ranks of a group, for rooted collectives. Ranks are relative to the root of the tree.

/// Shape of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeShape {
    /// All ranks are children of the root.
    Linear,
    /// Each rank is the child of the one before.
    Chain,
    /// Two children per rank; the first subtree of the root has the odd ranks, the second the even ones.
    Binary,
    /// Binary tree rooted at the last rank, so that operands are reduced in rank order.
    InOrderBinary,
    /// Children are at +2^k below the lowest set bit, far ones first.
    Binomial,
    /// Children are at +2^k above the highest set bit, near ones first.
    BinomialDoubling,
    /// As binomial, with radix four.
    Knomial,
}

/// log2 of the radix of [`TreeShape::Knomial`].
const DIGIT_BITS: u32 = 2;

impl TreeShape {
    /// All shapes.
    pub const ALL: [TreeShape; 7] = [
        TreeShape::Linear,
        TreeShape::Chain,
        TreeShape::Binary,
        TreeShape::InOrderBinary,
        TreeShape::Binomial,
        TreeShape::BinomialDoubling,
        TreeShape::Knomial,
    ];

    /// Name in options and machine files.
    pub const fn name(self) -> &'static str {
        match self {
            TreeShape::Linear => "linear",
            TreeShape::Chain => "chain",
            TreeShape::Binary => "binary",
            TreeShape::InOrderBinary => "in_order_binary",
            TreeShape::Binomial => "binomial",
            TreeShape::BinomialDoubling => "binomial_doubling",
            TreeShape::Knomial => "knomial",
        }
    }

    /// Root of the tree for a collective with root `root`.
    pub(crate) const fn root_rank(self, root: u32, size: u32) -> u32 {
        if matches!(self, TreeShape::InOrderBinary) { size - 1 } else { root }
    }

    /// Parent of a rank.
    pub(crate) fn parent(self, at: u32, size: u32) -> Option<u32> {
        if at == 0 {
            return None;
        }
        Some(match self {
            TreeShape::Linear => 0,
            TreeShape::Chain => at - 1,
            TreeShape::Binary => {
                let width = 1 << (at + 1).ilog2();
                let near = at - width / 2;
                if near >= width - 1 { at - width } else { near }
            }
            TreeShape::InOrderBinary => InOrderNode::new(at, size).parent,
            TreeShape::Binomial => at & (at - 1),
            TreeShape::BinomialDoubling => at ^ (1 << at.ilog2()),
            TreeShape::Knomial => at & !((1 << (lowest_digit_bit(at) + DIGIT_BITS)) - 1),
        })
    }

    /// Visits the children in send order.
    pub(crate) fn children(self, at: u32, size: u32, mut visit: impl FnMut(u32)) {
        match self {
            TreeShape::Linear if at == 0 => (1..size).for_each(visit),
            TreeShape::Linear => {}
            TreeShape::Chain => (at + 1..size.min(at + 2)).for_each(visit),
            TreeShape::Binary => {
                let width = 1 << (at + 1).ilog2();
                [at + width, at + 2 * width].into_iter().filter(|child| *child < size).for_each(visit);
            }
            TreeShape::InOrderBinary => InOrderNode::new(at, size).children.into_iter().flatten().for_each(visit),
            TreeShape::Binomial => {
                let levels = if at == 0 { ceil_log2(size) } else { at.trailing_zeros() };
                (0..levels).rev().map(|level| at + (1 << level)).filter(|child| *child < size).for_each(visit);
            }
            TreeShape::BinomialDoubling => {
                let first = if at == 0 { 0 } else { at.ilog2() + 1 };
                (first..ceil_log2(size)).map(|level| at + (1 << level)).take_while(|child| *child < size).for_each(visit);
            }
            TreeShape::Knomial => {
                let digits = if at == 0 { ceil_log2(size).div_ceil(DIGIT_BITS) } else { lowest_digit_bit(at) / DIGIT_BITS };
                for unit in (0..digits).rev().map(|digit| 1 << (digit * DIGIT_BITS)) {
                    (1..1 << DIGIT_BITS).map(|factor| at + factor * unit).take_while(|child| *child < size).for_each(&mut visit);
                }
            }
        }
    }

    /// Size of a subtree with consecutive ranks: linear and binomial trees.
    pub(crate) fn subtree_size(self, at: u32, size: u32) -> u32 {
        match self {
            _ if at == 0 => size,
            TreeShape::Linear => 1,
            _ => (1 << at.trailing_zeros()).min(size - at),
        }
    }

    /// Whether subtrees have consecutive ranks, as gather and scatter require.
    pub(crate) const fn has_contiguous_subtrees(self) -> bool {
        matches!(self, TreeShape::Linear | TreeShape::Binomial)
    }
}

/// Number of bits for numbering the ranks.
pub(crate) const fn ceil_log2(size: u32) -> u32 {
    if size < 2 { 0 } else { (size - 1).ilog2() + 1 }
}

/// Bit position of the lowest non-zero digit.
const fn lowest_digit_bit(at: u32) -> u32 {
    at.trailing_zeros() / DIGIT_BITS * DIGIT_BITS
}

/// Position of a rank in the in-order tree, the upper subtree first.
struct InOrderNode {
    parent: u32,
    children: [Option<u32>; 2],
}

impl InOrderNode {
    fn new(at: u32, size: u32) -> InOrderNode {
        // The root is the last rank; relative ranks become ranks and vice versa.
        let distance = |rank: u32| if rank + 1 == size { 0 } else { rank + 1 };
        let here = if at == 0 { size - 1 } else { at - 1 };
        let (mut first, mut end, mut parent) = (0, size, 0);
        loop {
            // The last rank of a range is the parent of the others. Their lower half, rounded down including it, is one subtree, the rest
            // the other.
            let (top, middle) = (end - 1, first + (end - first) / 2);
            if here == top {
                let upper = (top > middle).then(|| distance(top - 1));
                let lower = (middle > first).then(|| distance(middle - 1));
                return InOrderNode { parent, children: [upper, lower] };
            }
            parent = distance(top);
            (first, end) = if here < middle { (first, middle) } else { (middle, top) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(shape: TreeShape, at: u32, size: u32) -> Vec<u32> {
        let mut found = Vec::new();
        shape.children(at, size, |child| found.push(child));
        found
    }

    #[test]
    fn parents_and_children_agree_and_cover_all_ranks() {
        for shape in TreeShape::ALL {
            for size in 1..70 {
                let mut reached = vec![0];
                let mut next = 0;
                while let Some(at) = reached.get(next).copied() {
                    for child in children(shape, at, size) {
                        assert_eq!(shape.parent(child, size), Some(at), "{shape:?}: {child} of {size}");
                        reached.push(child);
                    }
                    next += 1;
                }
                reached.sort_unstable();
                assert_eq!(reached, (0..size).collect::<Vec<_>>(), "{shape:?} of {size}");
            }
        }
    }

    #[test]
    fn trees_look_as_the_libraries_draw_them() {
        assert_eq!(children(TreeShape::Knomial, 0, 10), [4, 8, 1, 2, 3], "ompi/mca/coll/base/coll_base_topo.c, 10 members, radix 4");
        assert_eq!(children(TreeShape::Knomial, 8, 10), [9]);
        assert_eq!(children(TreeShape::Binomial, 0, 8), [4, 2, 1]);
        assert_eq!(children(TreeShape::Binomial, 4, 8), [6, 5]);
        assert_eq!(children(TreeShape::BinomialDoubling, 1, 8), [3, 5]);
        assert_eq!(children(TreeShape::Binary, 1, 7), [3, 5]);
        assert_eq!(children(TreeShape::Binary, 2, 7), [4, 6]);
    }

    #[test]
    fn branches_that_lie_together_count_those_below() {
        for shape in TreeShape::ALL.into_iter().filter(|shape| shape.has_contiguous_subtrees()) {
            for (size, at) in (1..40).flat_map(|size| (0..size).map(move |at| (size, at))) {
                let below: u32 = children(shape, at, size).into_iter().map(|child| shape.subtree_size(child, size)).sum();
                assert_eq!(shape.subtree_size(at, size), 1 + below, "{shape:?}: {at} of {size}");
            }
        }
    }
}
