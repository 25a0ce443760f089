//! Calls at different places that are one operation: a broadcast that the master and the workers call each in a function of their own.
//!
//! Every rank numbers the meetings of a group in the same way. Two nodes belong together if one of them begins with a meeting that lies
//! among those of the other, and no third could be meant.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_mpi::Operation;
use sintonia_recording::deed::Group;

use super::walk::{Attendance, RankWalk};

/// Ranks that attend meetings in more ways than this are much alike; comparing all of them would tell nothing new.
const MOST_WAYS: usize = 32;

/// How one rank attends the meetings of a group: node, first and last meeting.
type Way = Vec<(usize, u64, u64)>;

/// Sets of nodes, two or more each, that are one operation.
pub fn together(walks: &[RankWalk], operation: impl Fn(usize) -> Operation, nodes: usize) -> Vec<Vec<usize>> {
    let mut ways: BTreeMap<Group, BTreeSet<Way>> = BTreeMap::new();
    for walk in walks {
        let mut own: BTreeMap<Group, Way> = BTreeMap::new();
        for Attendance { group, node, first, last } in &walk.attended {
            own.entry(*group).or_default().push((*node, *first, *last));
        }
        for (group, mut way) in own {
            way.sort_unstable();
            let known = ways.entry(group).or_default();
            if known.len() < MOST_WAYS {
                known.insert(way);
            }
        }
    }
    let mut same = Same::new(nodes);
    for known in ways.values() {
        for (one, other) in known.iter().flat_map(|one| known.iter().map(move |other| (one, other))) {
            for (node, first, _) in one {
                partner(*node, *first, other, &operation).into_iter().for_each(|partner| same.join(*node, partner));
            }
        }
    }
    same.sets()
}

/// The node at which another rank attends this meeting.
fn partner(node: usize, meeting: u64, other: &Way, operation: impl Fn(usize) -> Operation) -> Option<usize> {
    let mut possible =
        other.iter().filter(|(there, first, last)| operation(*there) == operation(node) && (first..=last).contains(&&meeting));
    let exact = possible.clone().find(|(_, first, _)| *first == meeting);
    let only = possible.next().filter(|_| possible.next().is_none());
    exact.or(only).map(|(there, ..)| *there)
}

/// Which nodes are the same: each points to an earlier one, or to itself.
struct Same(Vec<usize>);

impl Same {
    fn new(nodes: usize) -> Same {
        Same((0..nodes).collect())
    }

    fn first(&self, mut node: usize) -> usize {
        while self.0[node] != node {
            node = self.0[node];
        }
        node
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }

    fn sets(&self) -> Vec<Vec<usize>> {
        let mut sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..self.0.len()).for_each(|node| sets.entry(self.first(node)).or_default().push(node));
        sets.into_values().filter(|set| set.len() > 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(rank: u32, attended: &[(usize, u64, u64)]) -> RankWalk {
        let attendance = |&(node, first, last): &(usize, u64, u64)| Attendance { group: Group::Communicator(0), node, first, last };
        RankWalk { rank, attended: attended.iter().map(attendance).collect(), ..RankWalk::default() }
    }

    /// Even nodes are broadcasts, odd ones reductions.
    fn sets(walks: &[RankWalk]) -> Vec<Vec<usize>> {
        let operation = |node: usize| Operation::named(if node.is_multiple_of(2) { "MPI_Bcast" } else { "MPI_Reduce" }).unwrap();
        together(walks, operation, 8)
    }

    #[test]
    fn the_master_s_broadcast_is_that_of_the_workers() {
        assert_eq!(
            sets(&[walk(0, &[(0, 0, 0), (1, 1, 1)]), walk(1, &[(2, 0, 0), (3, 1, 1)]), walk(2, &[(2, 0, 0), (3, 1, 1)])]),
            [[0, 2], [1, 3]]
        );
    }

    #[test]
    fn the_last_command_of_many_is_received_where_all_others_were() {
        for rounds in [2, 1000] {
            assert_eq!(sets(&[walk(0, &[(0, 0, rounds), (2, rounds + 1, rounds + 1)]), walk(1, &[(4, 0, rounds + 1)])]), [[0, 2, 4]]);
        }
    }

    #[test]
    fn a_meeting_that_could_be_either_of_two_is_neither() {
        assert_eq!(sets(&[walk(0, &[(0, 3, 3)]), walk(1, &[(2, 0, 8), (4, 1, 9)])]), Vec::<Vec<usize>>::new());
    }
}
