//! Rules that say whom a rank talks to one after another, as a loop goes round.

use std::fmt;

use super::grid::Spot;
use super::part::Part;
use super::peer::Peer;
use super::tree::Tree;

/// Whom a rank talks to, one after another. When it is through with them, it begins again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// Members of its group.
    Sweep(Part, Order),
    /// Those of these that there are.
    Each(Vec<Peer>),
    /// These in turn; where there is none, nobody.
    Turns(Vec<Peer>),
}

/// In which order a rank, at its place in its group, comes to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last, itself as well.
    Everyone,
    /// From the first to the last, without itself.
    Others,
    /// From the last to the first, without itself.
    OthersBackwards,
    /// From the next one on, around the end.
    Following,
    /// From the one before on backwards, around the end.
    Preceding,
    /// The same from itself on.
    FollowingSelf,
    /// See [`Order::FollowingSelf`].
    PrecedingSelf,
    /// Those whose place differs in the bits of 1, 2, 3 and so on.
    Flips,
    /// Those whose place differs in one bit, from the lowest on.
    Bits,
    /// The same from the highest on.
    BitsBackwards,
    /// Those 1, 2, 4 and so on further, around the end.
    Doubling,
    /// The same backwards.
    DoublingBackwards,
    /// Its children in a tree.
    Children(Tree),
    /// The same from the last on.
    ChildrenBackwards(Tree),
}

impl Order {
    fn all() -> Vec<Order> {
        use Order::*;
        let mut orders = vec![Bits, BitsBackwards, Doubling, DoublingBackwards, Others, OthersBackwards, Following, Preceding, Flips];
        orders.extend([Everyone, FollowingSelf, PrecedingSelf]);
        orders.extend(Tree::ALL.iter().flat_map(|tree| [Children(*tree), ChildrenBackwards(*tree)]));
        orders
    }

    fn length(self, here: u32, size: u32) -> u32 {
        use Order::*;
        match self {
            Everyone | FollowingSelf | PrecedingSelf => size,
            Others | OthersBackwards | Following | Preceding => size - 1,
            Bits | BitsBackwards | Flips if !size.is_power_of_two() => 0,
            Flips => size - 1,
            Bits | BitsBackwards => size.ilog2(),
            Doubling | DoublingBackwards => size.next_power_of_two().ilog2(),
            Children(tree) | ChildrenBackwards(tree) => tree.children(here, size),
        }
    }

    /// The place that comes at this turn, which is below the length.
    fn place(self, here: u32, size: u32, turn: u32) -> u32 {
        use Order::*;
        let around = |by: u64| ((u64::from(here) + by) % u64::from(size)) as u32;
        let back = |by: u32| around(u64::from(size - by % size));
        match self {
            Everyone => turn,
            Others => turn + u32::from(turn >= here),
            OthersBackwards => size - 1 - turn - u32::from(turn + here >= size - 1),
            Following => around(u64::from(turn) + 1),
            FollowingSelf => around(u64::from(turn)),
            Preceding => back(turn + 1),
            PrecedingSelf => back(turn),
            Flips => here ^ (turn + 1),
            Bits => here ^ 1 << turn,
            BitsBackwards => here ^ 1 << (size.ilog2() - 1 - turn),
            Doubling => around(1 << turn),
            DoublingBackwards => back(1 << turn),
            Children(tree) => tree.child(here, size, turn).unwrap_or(here),
            ChildrenBackwards(tree) => tree.child(here, size, tree.children(here, size) - 1 - turn).unwrap_or(here),
        }
    }
}

impl List {
    /// All sweeps over groups, small groups last.
    pub fn sweeps(parts: &[Part]) -> impl Iterator<Item = List> {
        parts
            .iter()
            .filter(|part| **part != Part::Own)
            .flat_map(|part| Order::all().into_iter().map(|order| List::Sweep(part.clone(), order)))
    }

    /// How many there are for a rank.
    pub fn length(&self, spot: Spot) -> u32 {
        match self {
            List::Sweep(part, order) => order.length(part.place(spot), part.size(spot)),
            List::Each(peers) => peers.iter().filter(|peer| peer.of(spot).is_some()).count() as u32,
            List::Turns(peers) => peers.len() as u32,
        }
    }

    /// Whose turn it is in a round of the loop.
    pub fn at(&self, spot: Spot, round: u32) -> Option<u32> {
        let length = self.length(spot);
        let turn = round.checked_rem(length)?;
        match self {
            List::Sweep(part, order) => part.member(spot, order.place(part.place(spot), part.size(spot), turn)),
            List::Each(peers) => peers.iter().filter_map(|peer| peer.of(spot)).nth(turn as usize),
            List::Turns(peers) => peers[turn as usize].of(spot),
        }
    }

    /// Why the rule means nothing among so many ranks, if it does not.
    pub fn impossible(&self, spot: Spot) -> Option<String> {
        match self {
            List::Sweep(part, Order::Bits | Order::BitsBackwards | Order::Flips) if !part.size(spot).is_power_of_two() => {
                Some(format!("{} is not a power of two", part.size(spot)))
            }
            List::Sweep(..) => None,
            List::Each(peers) | List::Turns(peers) => peers.iter().find_map(|peer| peer.impossible(spot)),
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            List::Sweep(part, order) => {
                match order {
                    Order::Everyone => write!(f, "everyone in turn"),
                    Order::Others => write!(f, "every other rank in turn"),
                    Order::OthersBackwards => write!(f, "every other rank in turn, from the last on"),
                    Order::Following | Order::FollowingSelf => write!(f, "every other rank, from the next one on"),
                    Order::Preceding | Order::PrecedingSelf => write!(f, "every other rank, backwards from the one before"),
                    Order::Flips => write!(f, "every other rank, as rank xor 1, 2, 3 .."),
                    Order::Bits => write!(f, "hypercube: rank xor 1, 2, 4 .."),
                    Order::BitsBackwards => write!(f, "hypercube: rank xor .. 4, 2, 1"),
                    Order::Doubling => write!(f, "rank + 1, 2, 4 .. around the end"),
                    Order::DoublingBackwards => write!(f, "rank - 1, 2, 4 .. around the end"),
                    Order::Children(tree) => write!(f, "children in a {tree}"),
                    Order::ChildrenBackwards(tree) => write!(f, "children in a {tree}, from the last on"),
                }?;
                if *part == Part::World { Ok(()) } else { write!(f, ", within {part}") }
            }
            List::Each(peers) => write!(f, "each of {} that there is", joined(peers)),
            List::Turns(peers) => write!(f, "in turn {}", joined(peers)),
        }
    }
}

fn joined(peers: &[Peer]) -> String {
    peers.iter().map(Peer::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::more_ranks::grid::GridRule;

    fn listed(order: Order, rank: u32, ranks: u32) -> Vec<u32> {
        let grid = GridRule::Row.grid(ranks).unwrap();
        let (spot, list) = (Spot { rank, ranks, grid: &grid }, List::Sweep(Part::World, order));
        (0..list.length(spot)).map(|turn| list.at(spot, turn).unwrap()).collect()
    }

    #[test]
    fn the_others_come_in_the_order_that_the_rule_says() {
        assert_eq!(listed(Order::Others, 2, 5), [0, 1, 3, 4]);
        assert_eq!(listed(Order::OthersBackwards, 2, 5), [4, 3, 1, 0]);
        assert_eq!(listed(Order::Following, 2, 5), [3, 4, 0, 1]);
        assert_eq!(listed(Order::Preceding, 2, 5), [1, 0, 4, 3]);
        assert_eq!(listed(Order::Bits, 5, 8), [4, 7, 1]);
        assert_eq!(listed(Order::BitsBackwards, 5, 8), [1, 7, 4]);
        assert_eq!(listed(Order::Doubling, 5, 6), [0, 1, 3]);
        assert_eq!(listed(Order::DoublingBackwards, 0, 6), [5, 4, 2]);
        assert_eq!(listed(Order::Flips, 1, 4), [0, 3, 2]);
        assert_eq!(listed(Order::ChildrenBackwards(Tree::Lowest), 4, 8), [6, 5]);
    }

    #[test]
    fn neighbours_that_there_are_not_are_left_out() {
        let grid = GridRule::Even(vec![0, 1]).grid(6).unwrap();
        let step = |offset: [i32; 2]| Peer::Neighbour { offset: offset.to_vec(), wraps: false };
        let list = List::Each(vec![step([-1, 0]), step([1, 0]), step([0, -1]), step([0, 1])]);
        let of = |rank| {
            let spot = Spot { rank, ranks: 6, grid: &grid };
            (0..list.length(spot)).map(|turn| list.at(spot, turn).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((of(0), of(3)), (vec![2, 1], vec![1, 5, 2]));
    }
}
