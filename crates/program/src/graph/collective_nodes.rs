//! Matches nodes at different call sites that are the same collective, such as a broadcast that master and workers call in different
//! functions.
//!
//! All ranks number the collectives of a group alike. Two nodes match if the first instance of one lies within the range of the other and
//! no third node is possible.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_mpi::FunctionId;
use sintonia_recording::comm_event::CollectiveGroup;

use super::rank_path::{InstanceRange, RankPath};

/// Ranks with more variants than this are similar; comparing all of them would add nothing.
const MAX_VARIANTS: usize = 32;

/// How one rank calls the collectives of a group: node, first and last instance.
type NodeRanges = Vec<(usize, u64, u64)>;

/// Sets of two or more nodes that are the same collective.
pub(super) fn find_collective_sets(paths: &[RankPath], operation: impl Fn(usize) -> FunctionId, nodes: usize) -> Vec<Vec<usize>> {
    let mut variants: BTreeMap<CollectiveGroup, BTreeSet<NodeRanges>> = BTreeMap::new();
    for walk in paths {
        let mut own: BTreeMap<CollectiveGroup, NodeRanges> = BTreeMap::new();
        for InstanceRange { group, node, first, last } in &walk.collectives {
            own.entry(*group).or_default().push((*node, *first, *last));
        }
        for (group, mut ranges) in own {
            ranges.sort_unstable();
            let known = variants.entry(group).or_default();
            if known.len() < MAX_VARIANTS {
                known.insert(ranges);
            }
        }
    }
    let mut same = NodeUnion::new(nodes);
    for known in variants.values() {
        for (one, other) in known.iter().flat_map(|one| known.iter().map(move |other| (one, other))) {
            for (node, first, _) in one {
                partner(*node, *first, other, &operation).into_iter().for_each(|partner| same.union(*node, partner));
            }
        }
    }
    same.sets()
}

/// The node at which another rank calls this instance.
fn partner(node: usize, meeting: u64, other: &NodeRanges, operation: impl Fn(usize) -> FunctionId) -> Option<usize> {
    let mut possible =
        other.iter().filter(|(there, first, last)| operation(*there) == operation(node) && (first..=last).contains(&&meeting));
    let exact = possible.clone().find(|(_, first, _)| *first == meeting);
    let only = possible.next().filter(|_| possible.next().is_none());
    exact.or(only).map(|(there, ..)| *there)
}

/// Union-find over nodes: each entry is an earlier node, or itself.
struct NodeUnion(Vec<usize>);

impl NodeUnion {
    fn new(nodes: usize) -> NodeUnion {
        NodeUnion((0..nodes).collect())
    }

    fn find(&self, mut node: usize) -> usize {
        while self.0[node] != node {
            node = self.0[node];
        }
        node
    }

    fn union(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other)] = one.min(other);
    }

    fn sets(&self) -> Vec<Vec<usize>> {
        let mut sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..self.0.len()).for_each(|node| sets.entry(self.find(node)).or_default().push(node));
        sets.into_values().filter(|set| set.len() > 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(rank: u32, attended: &[(usize, u64, u64)]) -> RankPath {
        let attendance =
            |&(node, first, last): &(usize, u64, u64)| InstanceRange { group: CollectiveGroup::Communicator(0), node, first, last };
        RankPath { rank, collectives: attended.iter().map(attendance).collect(), ..RankPath::default() }
    }

    /// Even nodes are broadcasts, odd ones reductions.
    fn sets(paths: &[RankPath]) -> Vec<Vec<usize>> {
        let operation = |node: usize| FunctionId::from_name(if node.is_multiple_of(2) { "MPI_Bcast" } else { "MPI_Reduce" }).unwrap();
        find_collective_sets(paths, operation, 8)
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
        for trip_counts in [2, 1000] {
            assert_eq!(
                sets(&[walk(0, &[(0, 0, trip_counts), (2, trip_counts + 1, trip_counts + 1)]), walk(1, &[(4, 0, trip_counts + 1)])]),
                [[0, 2, 4]]
            );
        }
    }

    #[test]
    fn a_meeting_that_could_be_either_of_two_is_neither() {
        assert_eq!(sets(&[walk(0, &[(0, 3, 3)]), walk(1, &[(2, 0, 8), (4, 1, 9)])]), Vec::<Vec<usize>>::new());
    }
}
