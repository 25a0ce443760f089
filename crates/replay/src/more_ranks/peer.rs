//! Rules that say whom a rank talks to: one other rank, always the same way.

use std::collections::BTreeSet;
use std::fmt;

use super::grid::Spot;
use super::part::Part;
use super::tree::Tree;

/// Whom a rank talks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A certain rank.
    Rank(u32),
    /// The rank that is so many before the last.
    BeforeLast(u32),
    /// The one at this place of its group.
    Member(Part, u32),
    /// The one so many steps away in the grid.
    Neighbour {
        /// Steps along each dimension.
        offset: Vec<i32>,
        /// Whether the grid goes on at the other end.
        wraps: bool,
    },
    /// The one with a rank larger by so many.
    Shift {
        /// By how many.
        by: i32,
        /// Whether the first follows the last.
        wraps: bool,
    },
    /// The one whose rank differs in these bits.
    Flip(u32),
    /// The one whose rank differs in the highest bit.
    FlipHighest,
    /// The one as far from the last as this is from the first.
    Mirror,
    /// The one at the place with the coordinates exchanged.
    Transpose,
    /// The one above it in a tree.
    Parent(Tree),
}

impl Peer {
    /// The peer of a rank, if there is one.
    pub fn of(&self, spot: Spot) -> Option<u32> {
        let Spot { rank, ranks, grid } = spot;
        let there = match self {
            Peer::Rank(peer) => Some(*peer),
            Peer::BeforeLast(many) => (ranks - 1).checked_sub(*many),
            Peer::Member(part, place) => part.member(spot, *place),
            Peer::Neighbour { offset, wraps } => grid.neighbour(rank, offset, *wraps),
            Peer::Shift { by, wraps: true } => Some((i64::from(rank) + i64::from(*by)).rem_euclid(i64::from(ranks)) as u32),
            Peer::Shift { by, wraps: false } => rank.checked_add_signed(*by),
            Peer::Flip(bits) => Some(rank ^ bits),
            Peer::FlipHighest => Some(rank ^ (ranks.next_power_of_two() / 2)),
            Peer::Mirror => Some(ranks - 1 - rank),
            Peer::Transpose if grid.dimensions() == 2 && grid.side(0) == grid.side(1) => {
                Some(spot.coordinate(1) * grid.stride(0) + spot.coordinate(0))
            }
            Peer::Transpose => None,
            Peer::Parent(tree) => tree.parent(rank),
        };
        there.filter(|peer| *peer < ranks)
    }

    /// All rules that could have led from these ranks to their peers, simple ones first.
    pub fn candidates<'a>(seen: impl Iterator<Item = (Spot<'a>, u32)>, parts: &[Part]) -> Vec<Peer> {
        let mut found = Candidates::default();
        seen.for_each(|(spot, peer)| found.add(spot, peer, parts));
        found.in_order()
    }

    /// Whether it goes on at the other end of the grid, if it is a neighbour.
    pub fn wraps(&self) -> Option<bool> {
        match self {
            Peer::Neighbour { wraps, .. } | Peer::Shift { wraps, .. } => Some(*wraps),
            _ => None,
        }
    }

    /// Why the rule means nothing among so many ranks, if it does not.
    pub fn impossible(&self, spot: Spot) -> Option<String> {
        match self {
            Peer::Transpose if spot.grid.side(0) != spot.grid.side(1) => Some(format!("the grid {} is not a square", spot.grid)),
            Peer::Flip(_) | Peer::FlipHighest if !spot.ranks.is_power_of_two() => Some(format!("{} is not a power of two", spot.ranks)),
            _ => None,
        }
    }
}

/// Rules that may hold, each once, by how simple they are.
#[derive(Default)]
struct Candidates {
    neighbours: BTreeSet<(i32, Vec<i32>, bool)>,
    ranks: BTreeSet<u32>,
    before_last: BTreeSet<u32>,
    members: BTreeSet<(usize, u32)>,
    shifts: BTreeSet<(u32, i32, bool)>,
    flips: BTreeSet<u32>,
    parts: Vec<Part>,
}

impl Candidates {
    fn add(&mut self, spot: Spot, peer: u32, parts: &[Part]) {
        let Spot { rank, ranks, grid } = spot;
        self.parts = parts.to_vec();
        self.ranks.insert(peer);
        self.before_last.insert(ranks - 1 - peer);
        for (number, part) in parts.iter().enumerate() {
            let place = part.place(Spot { rank: peer, ..spot });
            if part.member(spot, place) == Some(peer) {
                self.members.insert((number, place));
            }
        }
        let offset = grid.offset(rank, peer);
        self.add_neighbour(offset.clone(), false);
        // Around the grid the same peer is also on the other side; the shorter way is meant.
        let sides = |d: usize| [0, -(grid.side(d) as i32), grid.side(d) as i32];
        let mut around = vec![offset];
        for d in 0..grid.dimensions() {
            let ways = around.iter().flat_map(|one| sides(d).map(|more| shifted(one, d, more)));
            around = ways.filter(|offset| 2 * offset[d].unsigned_abs() <= grid.side(d)).collect();
        }
        around.into_iter().for_each(|offset| self.add_neighbour(offset, true));
        let by = peer as i32 - rank as i32;
        self.shifts.insert((by.unsigned_abs(), by, false));
        let ways = [by, by - ranks as i32, by + ranks as i32].into_iter().filter(|by| 2 * by.unsigned_abs() <= ranks);
        self.shifts.extend(ways.map(|by| (by.unsigned_abs(), by, true)));
        self.flips.insert(rank ^ peer);
    }

    fn add_neighbour(&mut self, offset: Vec<i32>, wraps: bool) {
        let far = offset.iter().map(|step| step.abs()).sum();
        self.neighbours.insert((far, offset, wraps));
    }

    fn in_order(self) -> Vec<Peer> {
        let mut rules: Vec<Peer> = self.ranks.into_iter().map(Peer::Rank).collect();
        rules.extend(self.before_last.into_iter().map(Peer::BeforeLast));
        rules.extend(self.neighbours.into_iter().map(|(_, offset, wraps)| Peer::Neighbour { offset, wraps }));
        rules.extend(self.members.into_iter().map(|(part, place)| Peer::Member(self.parts[part].clone(), place)));
        rules.extend(self.shifts.into_iter().map(|(_, by, wraps)| Peer::Shift { by, wraps }));
        rules.extend([Peer::Mirror, Peer::Transpose]);
        rules.extend(self.flips.into_iter().map(Peer::Flip));
        rules.push(Peer::FlipHighest);
        rules.extend(Tree::ALL.map(Peer::Parent));
        rules
    }
}

fn shifted(offset: &[i32], dimension: usize, by: i32) -> Vec<i32> {
    let mut offset = offset.to_vec();
    offset[dimension] += by;
    offset
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let around = |wraps: &bool| if *wraps { ", around the end" } else { "" };
        match self {
            Peer::Rank(rank) => write!(f, "rank {rank}"),
            Peer::BeforeLast(0) => write!(f, "the last rank"),
            Peer::BeforeLast(many) => write!(f, "the rank {many} before the last"),
            Peer::Member(part, place) => write!(f, "number {place} of {part}"),
            Peer::Neighbour { offset, wraps } if offset.len() == 1 => write!(f, "rank {:+}{}", offset[0], around(wraps)),
            Peer::Neighbour { offset, wraps } => {
                let steps: Vec<String> = offset.iter().map(|step| if *step == 0 { "0".into() } else { format!("{step:+}") }).collect();
                write!(f, "neighbour ({}){}", steps.join(", "), around(wraps))
            }
            Peer::Shift { by, wraps } => write!(f, "rank {by:+}{}", around(wraps)),
            Peer::Flip(bits) => write!(f, "rank xor {bits}"),
            Peer::FlipHighest => write!(f, "rank xor p/2"),
            Peer::Mirror => write!(f, "p - 1 - rank"),
            Peer::Transpose => write!(f, "the transposed place of the grid"),
            Peer::Parent(tree) => write!(f, "parent in a {tree}"),
        }
    }
}
