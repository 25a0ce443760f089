//! Trees that connect the members of a group, so that data gets from one to all or from all to one. Members are counted on from the one at
//! the top.

/// A tree over the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// All hang on the top.
    Linear,
    /// Each hangs on the one before.
    Chain,
    /// Everyone has two below: those of the first are at odd distances, those of the second at even ones.
    Binary,
    /// A binary tree whose top is the last member, so that operands meet in the order of members.
    InOrderBinary,
    /// Those below are 2^k places on, far ones first; whose place has its lowest bit 2^k has those below that are nearer than that.
    Binomial,
    /// Those below are 2^k places on, near ones first; the one above is where the highest bit is cleared.
    BinomialDoubling,
    /// As binomial, in base four.
    Knomial,
}

/// Digits of [`Shape::Knomial`] have so many bits: its base is four.
const DIGIT: u32 = 2;

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 7] =
        [Shape::Linear, Shape::Chain, Shape::Binary, Shape::InOrderBinary, Shape::Binomial, Shape::BinomialDoubling, Shape::Knomial];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Linear => "linear",
            Shape::Chain => "chain",
            Shape::Binary => "binary",
            Shape::InOrderBinary => "in_order_binary",
            Shape::Binomial => "binomial",
            Shape::BinomialDoubling => "binomial_doubling",
            Shape::Knomial => "knomial",
        }
    }

    /// The member at the top, if the data is to be at `root`.
    pub(super) const fn top(self, root: u32, size: u32) -> u32 {
        if matches!(self, Shape::InOrderBinary) { size - 1 } else { root }
    }

    /// Who is above.
    pub(super) fn parent(self, at: u32, size: u32) -> Option<u32> {
        if at == 0 {
            return None;
        }
        Some(match self {
            Shape::Linear => 0,
            Shape::Chain => at - 1,
            Shape::Binary => {
                let width = 1 << (at + 1).ilog2();
                let near = at - width / 2;
                if near >= width - 1 { at - width } else { near }
            }
            Shape::InOrderBinary => InOrder::of(at, size).parent,
            Shape::Binomial => at & (at - 1),
            Shape::BinomialDoubling => at ^ (1 << at.ilog2()),
            Shape::Knomial => at & !((1 << (digit(at) + DIGIT)) - 1),
        })
    }

    /// Goes to those below, in the order in which they are sent to.
    pub(super) fn children(self, at: u32, size: u32, mut visit: impl FnMut(u32)) {
        match self {
            Shape::Linear if at == 0 => (1..size).for_each(visit),
            Shape::Linear => {}
            Shape::Chain => (at + 1..size.min(at + 2)).for_each(visit),
            Shape::Binary => {
                let width = 1 << (at + 1).ilog2();
                [at + width, at + 2 * width].into_iter().filter(|child| *child < size).for_each(visit);
            }
            Shape::InOrderBinary => InOrder::of(at, size).children.into_iter().flatten().for_each(visit),
            Shape::Binomial => {
                let levels = if at == 0 { levels(size) } else { at.trailing_zeros() };
                (0..levels).rev().map(|level| at + (1 << level)).filter(|child| *child < size).for_each(visit);
            }
            Shape::BinomialDoubling => {
                let first = if at == 0 { 0 } else { at.ilog2() + 1 };
                (first..levels(size)).map(|level| at + (1 << level)).take_while(|child| *child < size).for_each(visit);
            }
            Shape::Knomial => {
                let digits = if at == 0 { levels(size).div_ceil(DIGIT) } else { digit(at) / DIGIT };
                for unit in (0..digits).rev().map(|digit| 1 << (digit * DIGIT)) {
                    (1..1 << DIGIT).map(|factor| at + factor * unit).take_while(|child| *child < size).for_each(&mut visit);
                }
            }
        }
    }

    /// How many members are below and including this one, where they follow each other: linear and binomial trees.
    pub(super) fn branch(self, at: u32, size: u32) -> u32 {
        match self {
            _ if at == 0 => size,
            Shape::Linear => 1,
            _ => (1 << at.trailing_zeros()).min(size - at),
        }
    }

    /// Whether the data of a branch lies together, as gathering and scattering along the tree needs.
    pub(super) const fn keeps_branches_together(self) -> bool {
        matches!(self, Shape::Linear | Shape::Binomial)
    }
}

/// How many bits it takes to number the members.
pub(super) const fn levels(size: u32) -> u32 {
    if size < 2 { 0 } else { (size - 1).ilog2() + 1 }
}

/// Where the lowest digit that is not 0 begins, in bits.
const fn digit(at: u32) -> u32 {
    at.trailing_zeros() / DIGIT * DIGIT
}

/// Where a member is in a tree whose branches hold members in order, the upper half first.
struct InOrder {
    parent: u32,
    children: [Option<u32>; 2],
}

impl InOrder {
    fn of(at: u32, size: u32) -> InOrder {
        // The top is the last member; distances from it become places, and back.
        let distance = |place: u32| if place + 1 == size { 0 } else { place + 1 };
        let here = if at == 0 { size - 1 } else { at - 1 };
        let (mut first, mut end, mut parent) = (0, size, 0);
        loop {
            // The last of a range is above the others; their lower half, rounded down with it counted, is one branch and the rest the other.
            let (top, middle) = (end - 1, first + (end - first) / 2);
            if here == top {
                let upper = (top > middle).then(|| distance(top - 1));
                let lower = (middle > first).then(|| distance(middle - 1));
                return InOrder { parent, children: [upper, lower] };
            }
            parent = distance(top);
            (first, end) = if here < middle { (first, middle) } else { (middle, top) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(shape: Shape, at: u32, size: u32) -> Vec<u32> {
        let mut found = Vec::new();
        shape.children(at, size, |child| found.push(child));
        found
    }

    #[test]
    fn whoever_is_below_knows_who_is_above_and_nobody_is_left_out() {
        for shape in Shape::ALL {
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
        assert_eq!(children(Shape::Knomial, 0, 10), [4, 8, 1, 2, 3], "ompi/mca/coll/base/coll_base_topo.c, 10 members, radix 4");
        assert_eq!(children(Shape::Knomial, 8, 10), [9]);
        assert_eq!(children(Shape::Binomial, 0, 8), [4, 2, 1]);
        assert_eq!(children(Shape::Binomial, 4, 8), [6, 5]);
        assert_eq!(children(Shape::BinomialDoubling, 1, 8), [3, 5]);
        assert_eq!(children(Shape::Binary, 1, 7), [3, 5]);
        assert_eq!(children(Shape::Binary, 2, 7), [4, 6]);
    }

    #[test]
    fn branches_that_lie_together_count_those_below() {
        for shape in Shape::ALL.into_iter().filter(|shape| shape.keeps_branches_together()) {
            for (size, at) in (1..40).flat_map(|size| (0..size).map(move |at| (size, at))) {
                let below: u32 = children(shape, at, size).into_iter().map(|child| shape.branch(child, size)).sum();
                assert_eq!(shape.branch(at, size), 1 + below, "{shape:?}: {at} of {size}");
            }
        }
    }
}
