//! Rules for a single peer.

use std::collections::BTreeSet;
use std::fmt;

use super::group_rule::GroupRule;
use super::process_grid::RankPosition;
use super::rank_tree::RankTree;

/// The peer of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeerRule {
    /// A fixed rank.
    Rank(u32),
    /// A fixed distance from the last rank.
    BeforeLast(u32),
    /// A fixed member of its group.
    Member(GroupRule, u32),
    /// A neighbour in the grid.
    Neighbour {
        /// Offset along each dimension.
        offset: Vec<i32>,
        /// Whether the grid is periodic.
        wraps: bool,
    },
    /// A fixed rank offset.
    Shift {
        /// The offset.
        by: i32,
        /// Whether it is cyclic.
        wraps: bool,
    },
    /// rank xor a constant.
    Xor(u32),
    /// rank xor p/2.
    XorHighestBit,
    /// p - 1 - rank.
    Mirror,
    /// The transposed position in the grid.
    Transpose,
    /// Parent in a tree.
    Parent(RankTree),
}

impl PeerRule {
    /// The peer of a rank, if it exists.
    pub(super) fn evaluate(&self, position: RankPosition) -> Option<u32> {
        let RankPosition { rank, rank_count: ranks, grid } = position;
        let there = match self {
            PeerRule::Rank(peer) => Some(*peer),
            PeerRule::BeforeLast(distance) => (ranks - 1).checked_sub(*distance),
            PeerRule::Member(group, index) => group.member(position, *index),
            PeerRule::Neighbour { offset, wraps } => grid.neighbour(rank, offset, *wraps),
            PeerRule::Shift { by, wraps: true } => Some((i64::from(rank) + i64::from(*by)).rem_euclid(i64::from(ranks)) as u32),
            PeerRule::Shift { by, wraps: false } => rank.checked_add_signed(*by),
            PeerRule::Xor(bits) => Some(rank ^ bits),
            PeerRule::XorHighestBit => Some(rank ^ (ranks.next_power_of_two() / 2)),
            PeerRule::Mirror => Some(ranks - 1 - rank),
            PeerRule::Transpose if grid.dimensions() == 2 && grid.side(0) == grid.side(1) => {
                Some(position.coordinate(1) * grid.stride(0) + position.coordinate(0))
            }
            PeerRule::Transpose => None,
            PeerRule::Parent(tree) => tree.parent(rank),
        };
        there.filter(|peer| *peer < ranks)
    }

    /// All candidate rules for these ranks and peers, simple ones first.
    pub(super) fn candidates<'a>(seen: impl Iterator<Item = (RankPosition<'a>, u32)>, groups: &[GroupRule]) -> Vec<PeerRule> {
        let mut found = PeerCandidates::default();
        seen.for_each(|(position, peer)| found.add(position, peer, groups));
        found.into_rules()
    }

    /// Whether a neighbour rule is periodic.
    pub(super) fn wraps(&self) -> Option<bool> {
        match self {
            PeerRule::Neighbour { wraps, .. } | PeerRule::Shift { wraps, .. } => Some(*wraps),
            _ => None,
        }
    }

    /// Why the rule is undefined for this number of ranks, if it is.
    pub(super) fn inapplicable_reason(&self, position: RankPosition) -> Option<String> {
        match self {
            PeerRule::Transpose if position.grid.side(0) != position.grid.side(1) => {
                Some(format!("the grid {} is not square", position.grid))
            }
            PeerRule::Xor(_) | PeerRule::XorHighestBit if !position.rank_count.is_power_of_two() => {
                Some(format!("{} is not a power of two", position.rank_count))
            }
            _ => None,
        }
    }
}

/// Candidate rules without duplicates, by kind.
#[derive(Default)]
struct PeerCandidates {
    neighbours: BTreeSet<(i32, Vec<i32>, bool)>,
    ranks: BTreeSet<u32>,
    before_last: BTreeSet<u32>,
    members: BTreeSet<(usize, u32)>,
    shifts: BTreeSet<(u32, i32, bool)>,
    xors: BTreeSet<u32>,
    groups: Vec<GroupRule>,
}

impl PeerCandidates {
    fn add(&mut self, position: RankPosition, peer: u32, groups: &[GroupRule]) {
        let RankPosition { rank, rank_count: ranks, grid } = position;
        self.groups = groups.to_vec();
        self.ranks.insert(peer);
        self.before_last.insert(ranks - 1 - peer);
        for (number, group) in groups.iter().enumerate() {
            let index = group.rank_in_group(RankPosition { rank: peer, ..position });
            if group.member(position, index) == Some(peer) {
                self.members.insert((number, index));
            }
        }
        let offset = grid.offset(rank, peer);
        self.add_neighbour(offset.clone(), false);
        // In a periodic grid a peer has several offsets; the shortest one is used.
        let sides = |d: usize| [0, -(grid.side(d) as i32), grid.side(d) as i32];
        let mut around = vec![offset];
        for d in 0..grid.dimensions() {
            let offsets = around.iter().flat_map(|one| sides(d).map(|more| shifted(one, d, more)));
            around = offsets.filter(|offset| 2 * offset[d].unsigned_abs() <= grid.side(d)).collect();
        }
        around.into_iter().for_each(|offset| self.add_neighbour(offset, true));
        let by = peer as i32 - rank as i32;
        self.shifts.insert((by.unsigned_abs(), by, false));
        let offsets = [by, by - ranks as i32, by + ranks as i32].into_iter().filter(|by| 2 * by.unsigned_abs() <= ranks);
        self.shifts.extend(offsets.map(|by| (by.unsigned_abs(), by, true)));
        self.xors.insert(rank ^ peer);
    }

    fn add_neighbour(&mut self, offset: Vec<i32>, wraps: bool) {
        let far = offset.iter().map(|step| step.abs()).sum();
        self.neighbours.insert((far, offset, wraps));
    }

    fn into_rules(self) -> Vec<PeerRule> {
        let mut rules: Vec<PeerRule> = self.ranks.into_iter().map(PeerRule::Rank).collect();
        rules.extend(self.before_last.into_iter().map(PeerRule::BeforeLast));
        rules.extend(self.neighbours.into_iter().map(|(_, offset, wraps)| PeerRule::Neighbour { offset, wraps }));
        rules.extend(self.members.into_iter().map(|(group, index)| PeerRule::Member(self.groups[group].clone(), index)));
        rules.extend(self.shifts.into_iter().map(|(_, by, wraps)| PeerRule::Shift { by, wraps }));
        rules.extend([PeerRule::Mirror, PeerRule::Transpose]);
        rules.extend(self.xors.into_iter().map(PeerRule::Xor));
        rules.push(PeerRule::XorHighestBit);
        rules.extend(RankTree::ALL.map(PeerRule::Parent));
        rules
    }
}

fn shifted(offset: &[i32], dimension: usize, by: i32) -> Vec<i32> {
    let mut offset = offset.to_vec();
    offset[dimension] += by;
    offset
}

impl fmt::Display for PeerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let around = |wraps: &bool| if *wraps { ", periodic" } else { "" };
        match self {
            PeerRule::Rank(rank) => write!(f, "rank {rank}"),
            PeerRule::BeforeLast(0) => write!(f, "the last rank"),
            PeerRule::BeforeLast(distance) => write!(f, "the rank {distance} before the last"),
            PeerRule::Member(group, index) => write!(f, "member {index} of {group}"),
            PeerRule::Neighbour { offset, wraps } if offset.len() == 1 => write!(f, "rank {:+}{}", offset[0], around(wraps)),
            PeerRule::Neighbour { offset, wraps } => {
                let steps: Vec<String> = offset.iter().map(|step| if *step == 0 { "0".into() } else { format!("{step:+}") }).collect();
                write!(f, "neighbour ({}){}", steps.join(", "), around(wraps))
            }
            PeerRule::Shift { by, wraps } => write!(f, "rank {by:+}{}", around(wraps)),
            PeerRule::Xor(bits) => write!(f, "rank xor {bits}"),
            PeerRule::XorHighestBit => write!(f, "rank xor p/2"),
            PeerRule::Mirror => write!(f, "p - 1 - rank"),
            PeerRule::Transpose => write!(f, "the transposed grid position"),
            PeerRule::Parent(tree) => write!(f, "parent in a {tree}"),
        }
    }
}
