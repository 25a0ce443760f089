//! How ranks fall into groups: rows and columns of a grid, blocks, every other one. Communicators are such groups.

use std::fmt;

use super::grid::{Grid, Spot};

/// A rule by which each rank belongs to one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All ranks are one group.
    World,
    /// Each rank is one of its own.
    Own,
    /// Ranks that differ only along the dimensions for which it holds.
    Lines(Vec<bool>),
    /// So many ranks that follow each other.
    Blocks(u32),
    /// Ranks that follow each other, in so many groups.
    BlocksInAll(u32),
    /// Ranks at this distance from each other.
    Apart(u32),
    /// So many ranks, equally far from each other.
    ApartInAll(u32),
}

impl Part {
    /// All rules worth trying in a grid, simple ones first.
    pub fn all(grid: &Grid, least_ranks: u32) -> Vec<Part> {
        let mut parts = vec![Part::World, Part::Own];
        let dimensions = grid.dimensions();
        parts.extend((1..(1 << dimensions) - 1).map(|bits: u32| Part::Lines((0..dimensions).map(|d| bits & 1 << d != 0).collect())));
        for size in 2..=least_ranks / 2 {
            parts.extend([Part::Blocks(size), Part::Apart(size), Part::BlocksInAll(size), Part::ApartInAll(size)]);
        }
        parts
    }

    /// How many members the group of a rank has.
    pub fn size(&self, spot: Spot) -> u32 {
        match self {
            Part::World => spot.ranks,
            Part::Own => 1,
            Part::Lines(along) => (0..along.len()).filter(|d| along[*d]).map(|d| spot.grid.side(d)).product(),
            Part::Blocks(size) => (*size).min(spot.ranks - spot.rank / size * size),
            Part::BlocksInAll(groups) => Part::Blocks(spot.ranks.div_ceil(*groups)).size(spot),
            Part::Apart(distance) => (spot.ranks - spot.rank % distance).div_ceil(*distance),
            Part::ApartInAll(size) => Part::Apart(spot.ranks.div_ceil(*size)).size(spot),
        }
    }

    /// The place of a rank in its group.
    pub fn place(&self, spot: Spot) -> u32 {
        match self {
            Part::World => spot.rank,
            Part::Own => 0,
            Part::Lines(along) => (0..along.len()).filter(|d| along[*d]).fold(0, |place, d| place * spot.grid.side(d) + spot.coordinate(d)),
            Part::Blocks(size) => spot.rank % size,
            Part::BlocksInAll(groups) => spot.rank % spot.ranks.div_ceil(*groups),
            Part::Apart(distance) => spot.rank / distance,
            Part::ApartInAll(size) => spot.rank / spot.ranks.div_ceil(*size),
        }
    }

    /// The member at a place of the group of a rank.
    pub fn member(&self, spot: Spot, place: u32) -> Option<u32> {
        if place >= self.size(spot) {
            return None;
        }
        Some(match self {
            Part::World => place,
            Part::Own => spot.rank,
            Part::Lines(along) => {
                let (mut rest, mut member) = (place, spot.rank);
                for d in (0..along.len()).rev().filter(|d| along[*d]) {
                    let (side, stride) = (spot.grid.side(d), spot.grid.stride(d));
                    member = member - spot.coordinate(d) * stride + rest % side * stride;
                    rest /= side;
                }
                member
            }
            Part::Blocks(size) => spot.rank / size * size + place,
            Part::BlocksInAll(groups) => return Part::Blocks(spot.ranks.div_ceil(*groups)).member(spot, place),
            Part::Apart(distance) => spot.rank % distance + place * distance,
            Part::ApartInAll(size) => return Part::Apart(spot.ranks.div_ceil(*size)).member(spot, place),
        })
    }

    /// The first member of the group of a rank: what tells groups apart.
    pub fn first(&self, spot: Spot) -> u32 {
        self.member(spot, 0).unwrap_or(spot.rank)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::World => write!(f, "all ranks"),
            Part::Own => write!(f, "each rank alone"),
            Part::Lines(along) if along.len() == 2 => write!(f, "{} of the grid", if along[1] { "rows" } else { "columns" }),
            Part::Lines(along) => {
                let dimensions: Vec<String> = (0..along.len()).filter(|d| along[*d]).map(|d| (d + 1).to_string()).collect();
                write!(f, "lines of the grid along dimension {}", dimensions.join(" and "))
            }
            Part::Blocks(size) => write!(f, "blocks of {size} ranks"),
            Part::BlocksInAll(groups) => write!(f, "{groups} blocks of ranks"),
            Part::Apart(distance) => write!(f, "ranks {distance} apart"),
            Part::ApartInAll(size) => write!(f, "{size} ranks equally far apart"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::more_ranks::grid::GridRule;

    #[test]
    fn every_rank_finds_itself_at_its_place_and_members_agree() {
        let grid = GridRule::Even(vec![0, 1, 2]).grid(24).unwrap();
        for part in Part::all(&grid, 24) {
            for rank in 0..24 {
                let spot = Spot { rank, ranks: 24, grid: &grid };
                assert_eq!(part.member(spot, part.place(spot)), Some(rank), "{part:?}");
                let members = |spot| (0..part.size(spot)).map(|place| part.member(spot, place)).collect::<Vec<_>>();
                assert!(members(spot).is_sorted());
                for other in members(spot).into_iter().flatten() {
                    assert_eq!(members(Spot { rank: other, ..spot }), members(spot), "{part:?}");
                }
            }
        }
    }
}
