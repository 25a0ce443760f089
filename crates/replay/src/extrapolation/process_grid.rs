//! Process grids of one to three dimensions.
//!
//! Row-major, as in `MPI_Cart_create`. A column-major grid is the same with its sides reversed, so each order of the sides is tried.

use std::fmt;

/// How the sides of the grid follow from the number of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GridRule {
    /// One dimension.
    Row,
    /// Balanced sides, as from `MPI_Dims_create`; the permutation of the sides, which are sorted in descending order.
    Balanced(Vec<usize>),
    /// Two sides, one of constant length.
    Fixed {
        /// The constant length.
        side: u32,
        /// Whether it is the first side.
        first: bool,
    },
    /// Given by the user.
    Given(Vec<u32>),
}

impl GridRule {
    /// All candidate rules for these numbers of ranks, simple ones first.
    pub(super) fn all(ranks: &[u32]) -> Vec<GridRule> {
        let mut rules = vec![GridRule::Row, GridRule::Balanced(vec![0, 1]), GridRule::Balanced(vec![1, 0])];
        let orders = [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1]];
        rules.extend(orders.map(|order| GridRule::Balanced(order.to_vec())));
        let least = ranks.iter().copied().min().unwrap_or(1);
        for side in (2..least).filter(|side| ranks.iter().all(|ranks| ranks % side == 0)) {
            rules.extend([false, true].map(|first| GridRule::Fixed { side, first }));
        }
        rules
    }

    /// The grid for this number of ranks, if possible.
    pub(super) fn grid(&self, ranks: u32) -> Option<ProcessGrid> {
        let sides = match self {
            GridRule::Row => vec![ranks],
            GridRule::Balanced(order) => {
                let even = balanced_sides(ranks, order.len());
                order.iter().map(|index| even[*index]).collect()
            }
            GridRule::Fixed { side, first } => {
                let other = ranks / side;
                if *first { vec![*side, other] } else { vec![other, *side] }
            }
            GridRule::Given(sides) => sides.clone(),
        };
        let product = sides.iter().try_fold(1u32, |product, side| product.checked_mul(*side));
        (product == Some(ranks)).then(|| ProcessGrid::new(sides))
    }

    /// Number of dimensions.
    pub(super) fn dimensions(&self) -> usize {
        match self {
            GridRule::Row => 1,
            GridRule::Balanced(order) => order.len(),
            GridRule::Fixed { .. } => 2,
            GridRule::Given(sides) => sides.len(),
        }
    }
}

/// Balanced sides in descending order.
fn balanced_sides(ranks: u32, dimensions: usize) -> Vec<u32> {
    if dimensions <= 1 {
        return vec![ranks];
    }
    let divisors = (1..).take_while(|side: &u32| u64::from(*side).pow(2) <= u64::from(ranks)).filter(|side| ranks.is_multiple_of(*side));
    let candidates = divisors.flat_map(|side| [side, ranks / side]).map(|side| {
        let mut sides = balanced_sides(ranks / side, dimensions - 1);
        sides.push(side);
        sides.sort_unstable_by(|a, b| b.cmp(a));
        sides
    });
    let unevenness = |sides: &Vec<u32>| (sides[0] - sides[dimensions - 1], sides[0]);
    candidates.min_by_key(unevenness).unwrap_or_else(|| vec![ranks; dimensions])
}

/// Ranks in a Cartesian grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessGrid {
    sides: Vec<u32>,
    /// Rank distance of neighbours along each dimension.
    strides: Vec<u32>,
}

impl ProcessGrid {
    fn new(sides: Vec<u32>) -> ProcessGrid {
        let strides = (0..sides.len()).map(|dimension| sides[dimension + 1..].iter().product()).collect();
        ProcessGrid { sides, strides }
    }

    /// Number of dimensions.
    pub(super) fn dimensions(&self) -> usize {
        self.sides.len()
    }

    /// Length of a dimension.
    pub(super) fn side(&self, dimension: usize) -> u32 {
        self.sides[dimension]
    }

    /// Rank distance of neighbours along a dimension.
    pub(super) fn stride(&self, dimension: usize) -> u32 {
        self.strides[dimension]
    }

    /// Coordinate of a rank.
    pub(super) fn coordinate(&self, rank: u32, dimension: usize) -> u32 {
        rank / self.strides[dimension] % self.sides[dimension]
    }

    /// The rank at an offset.
    pub(super) fn neighbour(&self, rank: u32, offset: &[i32], wraps: bool) -> Option<u32> {
        let mut neighbour = 0;
        for (dimension, step) in offset.iter().enumerate() {
            let side = i64::from(self.sides[dimension]);
            let there = i64::from(self.coordinate(rank, dimension)) + i64::from(*step);
            let there = if wraps { there.rem_euclid(side) } else { there };
            if !(0..side).contains(&there) {
                return None;
            }
            neighbour += there as u32 * self.strides[dimension];
        }
        Some(neighbour)
    }

    /// Offset of another rank.
    pub(super) fn offset(&self, rank: u32, other: u32) -> Vec<i32> {
        let step = |dimension| self.coordinate(other, dimension) as i32 - self.coordinate(rank, dimension) as i32;
        (0..self.dimensions()).map(step).collect()
    }
}

impl fmt::Display for ProcessGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides: Vec<String> = self.sides.iter().map(u32::to_string).collect();
        write!(f, "{}", sides.join(" x "))
    }
}

/// A rank and its position in the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankPosition<'a> {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub rank_count: u32,
    /// The grid.
    pub grid: &'a ProcessGrid,
}

impl RankPosition<'_> {
    /// Coordinate along a dimension.
    pub(super) fn coordinate(&self, dimension: usize) -> u32 {
        self.grid.coordinate(self.rank, dimension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_sides_are_those_of_dims_create() {
        let sides = |ranks, dimensions| balanced_sides(ranks, dimensions);
        assert_eq!([4, 8, 12, 7, 1].map(|ranks| sides(ranks, 2)), [[2, 2], [4, 2], [4, 3], [7, 1], [1, 1]]);
        assert_eq!([8, 16, 64, 24, 1 << 20].map(|ranks| sides(ranks, 3)), [[2, 2, 2], [4, 2, 2], [4, 4, 4], [4, 3, 2], [128, 128, 64]]);
    }

    #[test]
    fn a_step_over_the_boundary_has_no_neighbour_or_wraps() {
        let grid = GridRule::Balanced(vec![0, 1]).grid(8).unwrap();
        assert_eq!((grid.to_string().as_str(), grid.coordinate(5, 0), grid.coordinate(5, 1)), ("4 x 2", 2, 1));
        assert_eq!([grid.neighbour(5, &[1, 0], false), grid.neighbour(7, &[1, 0], false)], [Some(7), None]);
        assert_eq!([grid.neighbour(7, &[1, 0], true), grid.neighbour(7, &[0, 1], true)], [Some(1), Some(6)]);
        assert_eq!(grid.offset(7, 0), [-3, -1]);
    }

    #[test]
    fn ranks_that_a_side_does_not_divide_make_no_grid() {
        assert_eq!(GridRule::Fixed { side: 4, first: true }.grid(18), None);
        assert_eq!(GridRule::Given(vec![3, 5]).grid(16), None);
    }
}
