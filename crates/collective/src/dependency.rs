//! Which other ranks a rank of a collective depends on: those whose entry its messages need, directly or through others, before it can
//! leave.
//!
//! The semantics of MPI only say that the root of a reduction needs everyone and that a broadcast needs its root. An inner rank of a tree also
//! waits for its children or its parent, and that depends on the algorithm.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sintonia_mpi::CollectiveOp;

use crate::rank_set::RankSet;
use crate::{CollectiveAlgorithm, CollectiveRound, Participant, TreeShape, rounds};

/// What the members of a collective depend on under one algorithm. Many roots share the sets of one.
#[derive(Clone, Debug)]
pub struct DependencySets {
    members: Arc<MemberSets>,
    /// The rank that has the first of the sets.
    origin: u32,
    /// Whether the data pass through rank 0 before they reach the root's tree.
    has_leader: bool,
}

impl DependencySets {
    /// The ranks whose entry a rank needs in any case, to receive what it has to receive.
    pub fn required(&self, rank: u32) -> Cow<'_, RankSet> {
        self.set_of(&self.members.required, rank)
    }

    /// The ranks whose entry it may need: if messages are too large to be buffered, a sender waits for its receiver, too, and a rank may
    /// send or receive one message after the other.
    pub fn possible(&self, rank: u32) -> Cow<'_, RankSet> {
        let set = self.set_of(&self.members.possible, rank);
        if !self.has_leader {
            return set;
        }
        let mut set = set.into_owned();
        set.insert_all(&self.members.possible[rank as usize]);
        set.insert_all(&[0, self.origin].into_iter().collect());
        Cow::Owned(set.without(rank))
    }

    fn set_of<'a>(&self, sets: &'a [RankSet], rank: u32) -> Cow<'a, RankSet> {
        let size = sets.len() as u32;
        match self.origin {
            0 => Cow::Borrowed(&sets[rank as usize]),
            origin => Cow::Owned(sets[((rank + (size - origin)) % size) as usize].rotated(origin, size)),
        }
    }
}

/// The dependencies under several algorithms, each worked out once.
#[derive(Debug, Default)]
pub struct DependencyCache(FxHashMap<(CollectiveAlgorithm, CollectiveOp, u32, u32), Arc<MemberSets>>);

impl DependencyCache {
    /// The dependencies of all ranks of a group of this size.
    pub fn get(&mut self, algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32) -> DependencySets {
        let (origin, root) = if is_relative_to_root(algorithm, op) { (root, 0) } else { (0, root) };
        let members = self.0.entry((algorithm, op, size, root)).or_insert_with(|| Arc::new(MemberSets::new(algorithm, op, size, root)));
        // On one node, MPICH's broadcast passes through rank 0, which is the root of the tree.
        let has_leader = origin != 0
            && op == CollectiveOp::Broadcast
            && matches!(algorithm, CollectiveAlgorithm::Tree { shape: TreeShape::Binomial, .. });
        DependencySets { members: Arc::clone(members), origin, has_leader }
    }
}

/// Whether the ranks do the same for every root, by rank relative to it.
fn is_relative_to_root(algorithm: CollectiveAlgorithm, op: CollectiveOp) -> bool {
    use CollectiveAlgorithm::{LinearSync, Rabenseifner, Tree};
    use CollectiveOp::{Broadcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    matches!(op, Broadcast | Gather | Gatherv | Reduce | Scatter | Scatterv)
        && !matches!(algorithm, LinearSync | Rabenseifner(_) | Tree { shape: TreeShape::InOrderBinary, .. })
}

/// The dependencies of all ranks for one root.
#[derive(Debug, PartialEq, Eq)]
struct MemberSets {
    required: Vec<RankSet>,
    possible: Vec<RankSet>,
}

impl MemberSets {
    fn new(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32) -> MemberSets {
        match algorithm {
            // A part of the vector comes through all other ranks. To walk through it takes time with the square of the number of ranks.
            CollectiveAlgorithm::ScatterRing => MemberSets::all_others(size),
            _ => MemberSets::from_messages(algorithm, op, size, root),
        }
    }

    /// Every rank needs all others.
    fn all_others(size: u32) -> MemberSets {
        let sets: Vec<RankSet> = (0..size).map(|rank| RankSet::from(0..size).without(rank)).collect();
        MemberSets { required: sets.clone(), possible: sets }
    }

    fn from_messages(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32) -> MemberSets {
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
        // On one node, MPICH's scan ends with a broadcast by rank 0.
        if (algorithm, op) == (CollectiveAlgorithm::RecursiveDoubling, CollectiveOp::Scan) {
            possible.iter_mut().for_each(|set| set.insert_all(&RankSet::from(0..size)));
        }
        let others = |sets: Vec<RankSet>| (0..).zip(sets).map(|(rank, set)| set.without(rank)).collect();
        MemberSets { possible: others(possible), required: others(MessageWalk::new(eager, false).run()) }
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
            sets: (0..size).map(|rank| RankSet::from(rank..rank + 1)).collect(),
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
        let sets = DependencyCache::default().get(algorithm, op, size, root);
        let list = |of: &dyn Fn(u32) -> RankSet| (0..size).map(|rank| of(rank).iter().collect()).collect();
        [list(&|rank| sets.required(rank).into_owned()), list(&|rank| sets.possible(rank).into_owned())]
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
            assert_eq!(MemberSets::new(ring, bcast, size, root), MemberSets::from_messages(ring, bcast, size, root), "{size} {root}");
        }
    }

    #[test]
    fn the_sets_of_one_root_serve_all_others() {
        let mut cache = DependencyCache::default();
        let is_rooted = |op: &CollectiveOp| {
            use CollectiveOp::{Broadcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
            matches!(op, Broadcast | Gather | Gatherv | Reduce | Scatter | Scatterv)
        };
        let cases = CollectiveAlgorithm::variants().flat_map(|algorithm| CollectiveOp::ALL.into_iter().map(move |op| (algorithm, op)));
        for (algorithm, op) in cases.filter(|(algorithm, op)| algorithm.supports(*op) && is_rooted(op)) {
            for (size, root) in (2..14).flat_map(|size| (0..size).map(move |root| (size, root))) {
                let (shared, own) = (cache.get(algorithm, op, size, root), MemberSets::new(algorithm, op, size, root));
                for rank in 0..size {
                    let index = rank as usize;
                    assert_eq!(*shared.required(rank), own.required[index], "{op:?} {algorithm:?} {size} {root}");
                    assert!(shared.has_leader || *shared.possible(rank) == own.possible[index], "{op:?} {algorithm:?} {size} {root}");
                }
            }
        }
        let binomial = CollectiveAlgorithm::tree(TreeShape::Binomial);
        let mut cache = DependencyCache::default();
        (0..64).for_each(|root| drop(cache.get(binomial, CollectiveOp::Broadcast, 64, root)));
        assert_eq!(cache.0.len(), 1);
    }

    #[test]
    fn a_broadcast_on_one_node_may_pass_through_rank_0() {
        let [required, possible] = sets_of(CollectiveAlgorithm::tree(TreeShape::Binomial), CollectiveOp::Broadcast, 4, 1);
        assert_eq!(required, [vec![1, 3], vec![], vec![1], vec![1]]);
        assert_eq!(possible, [vec![1, 2, 3], vec![0, 2, 3], vec![0, 1, 3], vec![0, 1, 2]]);
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
                let sets = DependencyCache::default().get(algorithm, op, size, root);
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
