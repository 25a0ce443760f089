//! Which other ranks a rank of a collective depends on: those whose entry its messages need, directly or through others, before it can
//! leave.
//!
//! The semantics of MPI only say that the root of a reduction needs everyone and that a broadcast needs its root. An inner rank of a tree also
//! waits for its children or its parent, and that depends on the algorithm.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use sintonia_mpi::CollectiveOp;

use crate::{CollectiveAlgorithm, CollectiveRound, Participant, TreeShape, rounds};

/// Ranks of a group, as sorted ranges that neither overlap nor touch: the subtrees of most algorithms are few ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    fn single(rank: u32) -> RankSet {
        RankSet(vec![(rank, rank + 1)])
    }

    fn insert_all(&mut self, other: &RankSet) {
        if other.0.iter().all(|(first, end)| self.covers(*first, *end)) {
            return;
        }
        self.0.extend_from_slice(&other.0);
        self.0.sort_unstable();
        self.0.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
    }

    fn covers(&self, first: u32, end: u32) -> bool {
        let index = self.0.partition_point(|range| range.0 <= first);
        index > 0 && self.0[index - 1].1 >= end
    }

    fn without(&self, rank: u32) -> RankSet {
        let parts = |&(first, end): &(u32, u32)| match (first..end).contains(&rank) {
            true => [(first, rank), (rank + 1, end)],
            false => [(first, end), (end, end)],
        };
        RankSet(self.0.iter().flat_map(parts).filter(|(first, end)| first < end).collect())
    }

    /// Whether a rank is in the set.
    pub fn contains(&self, rank: u32) -> bool {
        self.covers(rank, rank + 1)
    }

    /// The ranks, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, end)| *first..*end)
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(first, end)| (end - first) as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the members of a collective depend on under one algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencySets {
    required: Vec<RankSet>,
    possible: Vec<RankSet>,
}

impl DependencySets {
    /// The dependencies of all ranks of a group of this size.
    pub fn new(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32) -> DependencySets {
        match algorithm {
            // A part of the vector comes through all other ranks. To walk through it takes time with the square of the number of ranks.
            CollectiveAlgorithm::ScatterRing => DependencySets::all_others(size),
            _ => DependencySets::from_messages(algorithm, op, size, root),
        }
    }

    /// Every rank needs all others.
    fn all_others(size: u32) -> DependencySets {
        let all = RankSet(vec![(0, size)]);
        let sets: Vec<RankSet> = (0..size).map(|rank| all.without(rank)).collect();
        DependencySets { required: sets.clone(), possible: sets }
    }

    fn from_messages(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32) -> DependencySets {
        // Every part of the vector has bytes, and nothing is segmented: that would add messages but no dependencies.
        let bytes = u64::from(size) * 8;
        let steps = |rank| -> Vec<CollectiveRound> { rounds(algorithm, op, Participant { size, rank, root, bytes }).collect() };
        let eager: Vec<Vec<CollectiveRound>> = (0..size).map(steps).collect();
        // Libraries do not agree on the order of the messages of a round.
        let one_by_one = |is_reversed| -> Vec<Vec<CollectiveRound>> {
            eager.iter().map(|steps| steps.iter().flat_map(|round| split_round(round, is_reversed)).collect()).collect()
        };
        let [mut possible, reversed] = [false, true].map(|is_reversed| MessageWalk::new(one_by_one(is_reversed), true).run());
        possible.iter_mut().zip(&reversed).for_each(|(set, more)| set.insert_all(more));
        add_node_leader(algorithm, op, root, &mut possible);
        let others = |sets: Vec<RankSet>| (0..).zip(sets).map(|(rank, set)| set.without(rank)).collect();
        DependencySets { possible: others(possible), required: others(MessageWalk::new(eager, false).run()) }
    }

    /// The ranks whose entry a rank needs in any case, to receive what it has to receive.
    pub fn required(&self, rank: u32) -> &RankSet {
        &self.required[rank as usize]
    }

    /// The ranks whose entry it may need: if messages are too large to be buffered, a sender waits for its receiver, too, and a rank may
    /// send or receive one message after the other.
    pub fn possible(&self, rank: u32) -> &RankSet {
        &self.possible[rank as usize]
    }
}

/// On one node, MPICH's broadcast passes through rank 0, which is the root of the tree, and its scan ends with a broadcast by rank 0.
fn add_node_leader(algorithm: CollectiveAlgorithm, op: CollectiveOp, root: u32, possible: &mut [RankSet]) {
    let size = possible.len() as u32;
    match (algorithm, op) {
        (CollectiveAlgorithm::RecursiveDoubling, CollectiveOp::Scan) => {
            possible.iter_mut().for_each(|set| set.insert_all(&RankSet(vec![(0, size)])));
        }
        (CollectiveAlgorithm::Tree { shape: TreeShape::Binomial, .. }, CollectiveOp::Broadcast) if root != 0 => {
            let from_leader = DependencySets::new(algorithm, op, size, 0);
            for (set, more) in possible.iter_mut().zip(&from_leader.possible) {
                set.insert_all(more);
                set.insert_all(&RankSet::single(0));
                set.insert_all(&RankSet::single(root));
            }
        }
        _ => {}
    }
}

/// A round in which messages go one way only, as one round per message.
fn split_round(round: &CollectiveRound, is_reversed: bool) -> Vec<CollectiveRound> {
    if !round.sends.is_empty() && !round.receives.is_empty() {
        return vec![round.clone()];
    }
    let sends = round.sends.iter().map(|message| CollectiveRound { sends: vec![*message], ..CollectiveRound::default() });
    let receives = round.receives.iter().map(|message| CollectiveRound { receives: vec![*message], ..CollectiveRound::default() });
    let mut steps: Vec<CollectiveRound> = sends.chain(receives).collect();
    if is_reversed {
        steps.reverse();
    }
    steps
}

/// The ends of a channel between two ranks: what the ranks depended on when they posted each message.
#[derive(Default)]
struct ChannelEnds {
    sent: Vec<RankSet>,
    posted: Vec<RankSet>,
}

/// Walks through the messages of all ranks in causal order and collects what each rank depends on.
struct MessageWalk {
    rounds: Vec<Vec<CollectiveRound>>,
    /// Whether senders wait for their receivers.
    synchronous: bool,
    sets: Vec<RankSet>,
    next_round: Vec<usize>,
    /// Whether the messages of the next round are posted.
    posted: Vec<bool>,
    channels: FxHashMap<(u32, u32), ChannelEnds>,
    /// Number of messages completed, by rank, other rank and direction.
    done: FxHashMap<(u32, u32, bool), usize>,
    ready: VecDeque<u32>,
}

impl MessageWalk {
    fn new(rounds: Vec<Vec<CollectiveRound>>, synchronous: bool) -> MessageWalk {
        let size = rounds.len() as u32;
        MessageWalk {
            synchronous,
            sets: (0..size).map(RankSet::single).collect(),
            next_round: vec![0; rounds.len()],
            posted: vec![false; rounds.len()],
            channels: FxHashMap::default(),
            done: FxHashMap::default(),
            ready: (0..size).collect(),
            rounds,
        }
    }

    fn run(mut self) -> Vec<RankSet> {
        while let Some(rank) = self.ready.pop_front() {
            while self.advance(rank) {}
        }
        self.sets
    }

    /// Completes the next round of a rank; `false` if there is none or a message is missing.
    fn advance(&mut self, rank: u32) -> bool {
        let index = rank as usize;
        let Some(round) = self.rounds[index].get(self.next_round[index]).cloned() else { return false };
        if !std::mem::replace(&mut self.posted[index], true) {
            self.post(rank, &round);
        }
        let Some(others) = self.other_ends(rank, &round) else { return false };
        others.iter().for_each(|set| self.sets[index].insert_all(set));
        for (peer, receives) in ends(&round, self.synchronous) {
            *self.done.entry((rank, peer, receives)).or_default() += 1;
        }
        self.next_round[index] += 1;
        self.posted[index] = false;
        true
    }

    fn post(&mut self, rank: u32, round: &CollectiveRound) {
        let set = self.sets[rank as usize].clone();
        for message in &round.sends {
            self.channels.entry((rank, message.peer)).or_default().sent.push(set.clone());
            self.ready.push_back(message.peer);
        }
        for message in round.receives.iter().filter(|_| self.synchronous) {
            self.channels.entry((message.peer, rank)).or_default().posted.push(set.clone());
            self.ready.push_back(message.peer);
        }
    }

    /// What the other ends of the messages of a round depended on; `None` if one is missing.
    fn other_ends(&self, rank: u32, round: &CollectiveRound) -> Option<Vec<RankSet>> {
        let mut ahead: FxHashMap<(u32, bool), usize> = FxHashMap::default();
        let end = |(peer, receives): (u32, bool)| {
            let before = self.done.get(&(rank, peer, receives)).copied().unwrap_or(0);
            let same = ahead.entry((peer, receives)).or_default();
            *same += 1;
            let channel = self.channels.get(&if receives { (peer, rank) } else { (rank, peer) })?;
            let other = if receives { &channel.sent } else { &channel.posted };
            other.get(before + *same - 1).cloned()
        };
        ends(round, self.synchronous).map(end).collect()
    }
}

/// The messages of a round that a rank waits for: the peer, and whether it receives from it.
fn ends(round: &CollectiveRound, synchronous: bool) -> impl Iterator<Item = (u32, bool)> + '_ {
    let sends = round.sends.iter().filter(move |_| synchronous).map(|message| (message.peer, false));
    sends.chain(round.receives.iter().map(|message| (message.peer, true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LibraryRules, choose_algorithm, op_names};

    fn sets_of(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32) -> [Vec<Vec<u32>>; 2] {
        let sets = DependencySets::new(algorithm, op, size, root);
        let list = |of: &dyn Fn(u32) -> RankSet| (0..size).map(|rank| of(rank).iter().collect()).collect();
        [list(&|rank| sets.required(rank).clone()), list(&|rank| sets.possible(rank).clone())]
    }

    #[test]
    fn an_inner_rank_of_a_reduction_needs_its_subtree() {
        let [required, _] = sets_of(CollectiveAlgorithm::tree(TreeShape::Binomial), CollectiveOp::Reduce, 8, 0);
        assert_eq!(required, [vec![1, 2, 3, 4, 5, 6, 7], vec![], vec![3], vec![], vec![5, 6, 7], vec![], vec![7], vec![]]);
    }

    #[test]
    fn a_rank_of_a_broadcast_needs_all_between_it_and_the_root() {
        let [required, possible] = sets_of(CollectiveAlgorithm::tree(TreeShape::Chain), CollectiveOp::Broadcast, 4, 1);
        assert_eq!(required, [vec![1, 2, 3], vec![], vec![1], vec![1, 2]]);
        assert_eq!(possible, [vec![1, 2, 3], vec![2], vec![1, 3], vec![0, 1, 2]], "a sender that waits for its receiver");
    }

    #[test]
    fn a_root_that_sends_one_message_after_the_other_may_delay_all_of_them() {
        let [required, possible] = sets_of(CollectiveAlgorithm::tree(TreeShape::Linear), CollectiveOp::Scatterv, 4, 0);
        assert_eq!(required, [vec![], vec![0], vec![0], vec![0]]);
        assert_eq!(possible, [vec![1, 2, 3], vec![0, 2, 3], vec![0, 1, 3], vec![0, 1, 2]], "in whichever order");
    }

    #[test]
    fn a_scan_by_recursive_doubling_needs_higher_ranks_too() {
        let [required, _] = sets_of(CollectiveAlgorithm::RecursiveDoubling, CollectiveOp::Scan, 4, 0);
        assert_eq!(required, [vec![1, 2, 3], vec![0, 2, 3], vec![0, 1, 3], vec![0, 1, 2]]);
    }

    #[test]
    fn around_a_ring_every_rank_needs_all_others() {
        let (ring, bcast) = (CollectiveAlgorithm::ScatterRing, CollectiveOp::Broadcast);
        for (size, root) in (2..20).flat_map(|size| (0..size).map(move |root| (size, root))) {
            assert_eq!(
                DependencySets::new(ring, bcast, size, root),
                DependencySets::from_messages(ring, bcast, size, root),
                "{size} {root}"
            );
        }
    }

    /// What MPI itself requires holds under every algorithm that a library selects.
    #[test]
    fn the_semantics_of_mpi_are_part_of_every_algorithm() {
        use CollectiveOp::*;
        let libraries = LibraryRules::ALL.map(Some).into_iter().chain([None]);
        for (library, op) in libraries.flat_map(|library| op_names::selectable_ops().map(move |op| (library, op))) {
            for (size, bytes) in (2..14).chain([16, 31]).flat_map(|size| [8, 4096, 1 << 18].map(|bytes| (size, bytes))) {
                let Some(algorithm) = choose_algorithm(library, op, size, bytes) else { continue };
                let root = size - 1;
                let sets = DependencySets::new(algorithm, op, size, root);
                for rank in 0..size {
                    let required = sets.required(rank);
                    assert!(required.iter().all(|other| sets.possible(rank).contains(other)), "{op:?} {algorithm:?} {size}");
                    assert!(!required.contains(rank), "no rank needs itself");
                    let needed: Vec<u32> = match op {
                        Broadcast | Scatter | Scatterv if rank != root => vec![root],
                        Broadcast | Scatter | Scatterv => vec![],
                        Reduce | Gather | Gatherv if rank != root => vec![],
                        Scan | Exscan => (0..rank).collect(),
                        _ => (0..size).filter(|other| *other != rank).collect(),
                    };
                    assert!(needed.iter().all(|other| required.contains(*other)), "{op:?} by {algorithm:?} of {size}: rank {rank}");
                }
            }
        }
    }
}
