//! Partitions of the ranks into groups: grid lines, blocks, strides. Communicators are such groups.

use std::fmt;

use super::process_grid::{ProcessGrid, RankPosition};

/// A rule that assigns each rank to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GroupRule {
    /// One group of all ranks.
    World,
    /// Each rank alone.
    OnlySelf,
    /// Ranks that differ only along these dimensions.
    GridLines(Vec<bool>),
    /// Consecutive ranks, groups of this size.
    Blocks(u32),
    /// Consecutive ranks, this number of groups.
    BlockCount(u32),
    /// Ranks at this stride.
    Stride(u32),
    /// Ranks at equal strides, groups of this size.
    StrideCount(u32),
}

impl GroupRule {
    /// All candidate rules for a grid, simple ones first.
    pub(super) fn all(grid: &ProcessGrid, least_ranks: u32) -> Vec<GroupRule> {
        let mut rules = vec![GroupRule::World, GroupRule::OnlySelf];
        let dimensions = grid.dimensions();
        rules.extend(
            (1..(1 << dimensions) - 1).map(|bits: u32| GroupRule::GridLines((0..dimensions).map(|d| bits & 1 << d != 0).collect())),
        );
        for size in 2..=least_ranks / 2 {
            rules.extend([GroupRule::Blocks(size), GroupRule::Stride(size), GroupRule::BlockCount(size), GroupRule::StrideCount(size)]);
        }
        rules
    }

    /// Size of the group of a rank.
    pub(super) fn size(&self, position: RankPosition) -> u32 {
        match self {
            GroupRule::World => position.rank_count,
            GroupRule::OnlySelf => 1,
            GroupRule::GridLines(along) => (0..along.len()).filter(|d| along[*d]).map(|d| position.grid.side(d)).product(),
            GroupRule::Blocks(size) => (*size).min(position.rank_count - position.rank / size * size),
            GroupRule::BlockCount(groups) => GroupRule::Blocks(position.rank_count.div_ceil(*groups)).size(position),
            GroupRule::Stride(distance) => (position.rank_count - position.rank % distance).div_ceil(*distance),
            GroupRule::StrideCount(size) => GroupRule::Stride(position.rank_count.div_ceil(*size)).size(position),
        }
    }

    /// Rank in the group.
    pub(super) fn rank_in_group(&self, position: RankPosition) -> u32 {
        match self {
            GroupRule::World => position.rank,
            GroupRule::OnlySelf => 0,
            GroupRule::GridLines(along) => {
                (0..along.len()).filter(|d| along[*d]).fold(0, |index, d| index * position.grid.side(d) + position.coordinate(d))
            }
            GroupRule::Blocks(size) => position.rank % size,
            GroupRule::BlockCount(groups) => position.rank % position.rank_count.div_ceil(*groups),
            GroupRule::Stride(distance) => position.rank / distance,
            GroupRule::StrideCount(size) => position.rank / position.rank_count.div_ceil(*size),
        }
    }

    /// Member of a rank's group.
    pub(super) fn member(&self, position: RankPosition, index: u32) -> Option<u32> {
        if index >= self.size(position) {
            return None;
        }
        Some(match self {
            GroupRule::World => index,
            GroupRule::OnlySelf => position.rank,
            GroupRule::GridLines(along) => {
                let (mut rest, mut member) = (index, position.rank);
                for d in (0..along.len()).rev().filter(|d| along[*d]) {
                    let (side, stride) = (position.grid.side(d), position.grid.stride(d));
                    member = member - position.coordinate(d) * stride + rest % side * stride;
                    rest /= side;
                }
                member
            }
            GroupRule::Blocks(size) => position.rank / size * size + index,
            GroupRule::BlockCount(groups) => return GroupRule::Blocks(position.rank_count.div_ceil(*groups)).member(position, index),
            GroupRule::Stride(distance) => position.rank % distance + index * distance,
            GroupRule::StrideCount(size) => return GroupRule::Stride(position.rank_count.div_ceil(*size)).member(position, index),
        })
    }

    /// First member of the group of a rank; identifies the group.
    pub(super) fn first(&self, position: RankPosition) -> u32 {
        self.member(position, 0).unwrap_or(position.rank)
    }
}

impl fmt::Display for GroupRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupRule::World => write!(f, "all ranks"),
            GroupRule::OnlySelf => write!(f, "single ranks"),
            GroupRule::GridLines(along) if along.len() == 2 => write!(f, "{} of the grid", if along[1] { "rows" } else { "columns" }),
            GroupRule::GridLines(along) => {
                let dimensions: Vec<String> = (0..along.len()).filter(|d| along[*d]).map(|d| (d + 1).to_string()).collect();
                write!(f, "lines of the grid along dimension {}", dimensions.join(" and "))
            }
            GroupRule::Blocks(size) => write!(f, "blocks of {size} ranks"),
            GroupRule::BlockCount(groups) => write!(f, "{groups} blocks of ranks"),
            GroupRule::Stride(distance) => write!(f, "ranks {distance} apart"),
            GroupRule::StrideCount(size) => write!(f, "{size} equally spaced ranks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extrapolation::process_grid::GridRule;

    #[test]
    fn rank_in_group_and_member_are_inverse() {
        let grid = GridRule::Balanced(vec![0, 1, 2]).grid(24).unwrap();
        for rule in GroupRule::all(&grid, 24) {
            for rank in 0..24 {
                let position = RankPosition { rank, rank_count: 24, grid: &grid };
                assert_eq!(rule.member(position, rule.rank_in_group(position)), Some(rank), "{rule:?}");
                let members = |position| (0..rule.size(position)).map(|index| rule.member(position, index)).collect::<Vec<_>>();
                assert!(members(position).is_sorted());
                for other in members(position).into_iter().flatten() {
                    assert_eq!(members(RankPosition { rank: other, ..position }), members(position), "{rule:?}");
                }
            }
        }
    }
}
