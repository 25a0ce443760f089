//! The messages that collective operations send: one function per pattern, each with the algorithm that MPI libraries commonly use for it.
//!
//! MPI does not say how a collective travels, and the library hides it. So its messages are counted as a usual algorithm would send them
//! ([`ALGORITHMS`] says which, for the people who read the numbers). Every rank counts its own part from its own calls: what it sends or,
//! where only the receiver knows how much that is, what it receives. Over all ranks each message is then counted once.
//!
//! `sent` and `received` of a collective call are the bytes of its whole send and receive buffers. Every algorithm here sends amounts
//! proportional to them, so calls can be added up first and counted together.

use sintonia_mpi::Pattern;
use sintonia_mpi::binomial::{Tree, powers};

use crate::Flow;

/// The algorithms that collectives are counted by, as the files that hold the numbers say it.
pub(crate) const ALGORITHMS: &[&str] = &[
    "broadcast, reduce, gather and scatter by a binomial tree; gatherv and scatterv straight to and from the root",
    "allgather and allgatherv by a ring; allreduce by recursive doubling; barrier by dissemination; scan and exscan by a chain",
    "alltoall and reduce_scatter, with their variants, by pairwise exchange of equal parts",
    "neighbourhood collectives straight to all neighbours, in equal parts",
];

/// One rank's part in equal collective calls of a group.
#[derive(Clone, Copy)]
pub(crate) struct Party<'a> {
    /// The members of the group, by world rank.
    pub members: &'a [i32],
    /// The place of this rank among them.
    pub here: usize,
    /// The place of the root; 0 where there is none.
    pub root: usize,
    /// How many calls.
    pub calls: u64,
    /// Bytes in its send buffers of all calls together.
    pub sent: u64,
    /// Bytes in its receive buffers of all calls together.
    pub received: u64,
}

/// The messages of a collective inside one group; none for neighbourhood collectives, which do not go by place in the group.
pub(crate) fn messages(pattern: Pattern, party: &Party) -> Vec<Flow> {
    match pattern {
        Pattern::Barrier => barrier(party),
        Pattern::Broadcast => broadcast(party, party.message()),
        Pattern::Reduce => reduce(party, party.message()),
        Pattern::Allreduce => allreduce(party),
        Pattern::Gather => gather(party),
        Pattern::Gatherv => gatherv(party),
        Pattern::Scatter => scatter(party, party.block()),
        Pattern::Scatterv => scatterv(party),
        Pattern::Allgather | Pattern::Allgatherv => allgather(party),
        Pattern::Alltoall | Pattern::Alltoallv | Pattern::Alltoallw | Pattern::ReduceScatter | Pattern::ReduceScatterBlock => {
            alltoall(party)
        }
        Pattern::Scan | Pattern::Exscan => scan(party),
        Pattern::NeighborAllgather
        | Pattern::NeighborAllgatherv
        | Pattern::NeighborAlltoall
        | Pattern::NeighborAlltoallv
        | Pattern::NeighborAlltoallw => Vec::new(),
    }
}

impl Party<'_> {
    fn size(&self) -> usize {
        self.members.len()
    }

    /// One message per call to another member.
    pub(crate) fn send(&self, to: usize, bytes: u64) -> Flow {
        Flow { from: self.members[self.here], to: self.members[to], messages: self.calls, bytes }
    }

    /// Messages from another member, where the receiver is the one who knows their size.
    fn receive(&self, from: usize, messages: u64, bytes: u64) -> Flow {
        Flow { from: self.members[from], to: self.members[self.here], messages, bytes }
    }

    /// The message where everyone has the same, whichever buffer it is in.
    pub(crate) fn message(&self) -> u64 {
        self.sent.max(self.received)
    }

    /// The block of one member in a scatter: the root has all of them in its send buffer.
    fn block(&self) -> u64 {
        match self.here == self.root {
            true => self.sent / self.size() as u64,
            false => self.received,
        }
    }

    fn tree(&self) -> Tree {
        Tree { size: self.size(), root: self.root }
    }
}

/// Dissemination: in round k everyone sends an empty message 2^k places on.
fn barrier(party: &Party) -> Vec<Flow> {
    powers(party.size()).map(|step| party.send((party.here + step) % party.size(), 0)).collect()
}

/// Binomial tree: everyone passes the message on to its children.
pub(crate) fn broadcast(party: &Party, message: u64) -> Vec<Flow> {
    party.tree().children(party.here).map(|child| party.send(child, message)).collect()
}

/// Binomial tree: everyone sends the sum so far to its parent.
pub(crate) fn reduce(party: &Party, message: u64) -> Vec<Flow> {
    party.tree().parent(party.here).map(|parent| party.send(parent, message)).into_iter().collect()
}

/// Binomial tree: everyone sends the blocks of its branch to its parent.
pub(crate) fn gather(party: &Party) -> Vec<Flow> {
    let blocks = party.tree().branch(party.here) as u64;
    let bytes = party.sent.saturating_mul(blocks);
    party.tree().parent(party.here).map(|parent| party.send(parent, bytes)).into_iter().collect()
}

/// Straight to the root: nobody but the root knows the sizes of others.
fn gatherv(party: &Party) -> Vec<Flow> {
    let away = party.here != party.root;
    away.then(|| party.send(party.root, party.sent)).into_iter().collect()
}

/// Binomial tree: everyone sends each child the blocks of the child's branch.
pub(crate) fn scatter(party: &Party, block: u64) -> Vec<Flow> {
    let tree = party.tree();
    tree.children(party.here).map(|child| party.send(child, block.saturating_mul(tree.branch(child) as u64))).collect()
}

/// Straight from the root; counted by the receivers, each of whom knows its own part.
fn scatterv(party: &Party) -> Vec<Flow> {
    let away = party.here != party.root;
    away.then(|| party.receive(party.root, party.calls, party.received)).into_iter().collect()
}

/// Ring: each block goes once around, so everyone gets all blocks but its own from the member before it; counted by the receiver.
fn allgather(party: &Party) -> Vec<Flow> {
    let size = party.size();
    if size < 2 {
        return Vec::new();
    }
    let before = (party.here + size - 1) % size;
    vec![party.receive(before, party.calls * (size as u64 - 1), party.received.saturating_sub(party.sent))]
}

/// Recursive doubling: in round k everyone exchanges the whole vector with the member whose place differs in bit k. Where the size is no
/// power of two, members beyond it hand their vector to a neighbour first and get the result back.
fn allreduce(party: &Party) -> Vec<Flow> {
    let (size, here, vector) = (party.size(), party.here, party.message());
    let doubled = 1 << size.max(1).ilog2();
    let extra = size - doubled;
    // The first 2 * extra members form pairs; the odd one of each takes part for both.
    let (takes_part, place) = if here < 2 * extra { (here % 2 == 1, here / 2) } else { (true, here - extra) };
    if !takes_part {
        return vec![party.send(here + 1, vector)];
    }
    let member = |place: usize| if place < extra { 2 * place + 1 } else { place + extra };
    let rounds = powers(doubled).map(|bit| party.send(member(place ^ bit), vector));
    let result = (here < 2 * extra).then(|| party.send(here - 1, vector));
    rounds.chain(result).collect()
}

/// Pairwise exchange: everyone sends every other member its part; the parts are taken as equal, as their sizes are not recorded.
fn alltoall(party: &Party) -> Vec<Flow> {
    let part = party.sent / party.size() as u64;
    (0..party.size()).filter(|to| *to != party.here).map(|to| party.send(to, part)).collect()
}

/// Chain: everyone sends the sum so far to the next member.
fn scan(party: &Party) -> Vec<Flow> {
    let next = party.here + 1;
    (next < party.size()).then(|| party.send(next, party.message())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// All messages of one call by everyone: (from, to) to (messages, bytes); each rank's buffers come from a function.
    fn all(pattern: Pattern, size: usize, root: usize, buffers: impl Fn(usize) -> (u64, u64)) -> BTreeMap<(i32, i32), (u64, u64)> {
        let members: Vec<i32> = (0..size as i32).collect();
        let mut sum = BTreeMap::new();
        for here in 0..size {
            let (sent, received) = buffers(here);
            let party = Party { members: &members, here, root, calls: 1, sent, received };
            for flow in messages(pattern, &party) {
                assert!(flow.from != flow.to, "{pattern:?} sends to itself");
                let entry: &mut (u64, u64) = sum.entry((flow.from, flow.to)).or_default();
                entry.0 += flow.messages;
                entry.1 += flow.bytes;
            }
        }
        sum
    }

    /// What all messages of one call add up to.
    fn sums(pattern: Pattern, size: usize, root: usize, buffers: impl Fn(usize) -> (u64, u64)) -> (u64, u64) {
        all(pattern, size, root, buffers).values().fold((0, 0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1))
    }

    const SIZES: [usize; 7] = [1, 2, 3, 4, 5, 7, 16];

    #[test]
    fn a_broadcast_reaches_everyone_once_through_a_binomial_tree() {
        let expected = [((1, 2), (1, 8)), ((1, 3), (1, 8)), ((1, 5), (1, 8)), ((3, 4), (1, 8)), ((5, 0), (1, 8))];
        let buffers = |here| if here == 1 { (8, 0) } else { (0, 8) };
        assert_eq!(all(Pattern::Broadcast, 6, 1, buffers), BTreeMap::from(expected));
        for size in SIZES {
            let others = size as u64 - 1;
            assert_eq!(sums(Pattern::Broadcast, size, size / 2, |_| (8, 0)), (others, 8 * others));
        }
    }

    #[test]
    fn a_reduce_is_a_broadcast_backwards() {
        for size in SIZES {
            let there = all(Pattern::Broadcast, size, size - 1, |_| (8, 0));
            let back = all(Pattern::Reduce, size, size - 1, |_| (8, 0));
            assert_eq!(back, there.into_iter().map(|((from, to), flow)| ((to, from), flow)).collect());
        }
    }

    #[test]
    fn a_gather_sends_whole_branches_and_a_scatter_brings_them_back() {
        let gathered = all(Pattern::Gather, 6, 0, |_| (10, 0));
        let expected = [((1, 0), (1, 10)), ((2, 0), (1, 20)), ((3, 2), (1, 10)), ((4, 0), (1, 20)), ((5, 4), (1, 10))];
        assert_eq!(gathered, BTreeMap::from(expected));
        let scattered = all(Pattern::Scatter, 6, 0, |here| if here == 0 { (60, 0) } else { (0, 10) });
        assert_eq!(scattered, gathered.into_iter().map(|((from, to), flow)| ((to, from), flow)).collect());
    }

    #[test]
    fn gatherv_and_scatterv_go_straight_to_and_from_the_root() {
        let sizes = |here: usize| (here as u64, here as u64 * 10);
        assert_eq!(all(Pattern::Gatherv, 3, 1, sizes), BTreeMap::from([((0, 1), (1, 0)), ((2, 1), (1, 2))]));
        assert_eq!(all(Pattern::Scatterv, 3, 1, sizes), BTreeMap::from([((1, 0), (1, 0)), ((1, 2), (1, 20))]));
    }

    #[test]
    fn an_allgather_goes_around_in_a_ring() {
        let equal = all(Pattern::Allgather, 3, 0, |_| (4, 12));
        assert_eq!(equal, BTreeMap::from([((0, 1), (2, 8)), ((1, 2), (2, 8)), ((2, 0), (2, 8))]));
        let different = all(Pattern::Allgatherv, 3, 0, |here| (here as u64 + 1, 6));
        assert_eq!(different, BTreeMap::from([((2, 0), (2, 5)), ((0, 1), (2, 4)), ((1, 2), (2, 3))]));
    }

    #[test]
    fn an_allreduce_doubles_and_folds_what_is_beyond_a_power_of_two() {
        let four = all(Pattern::Allreduce, 4, 0, |_| (8, 8));
        assert_eq!(four.keys().copied().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)]);
        let three = all(Pattern::Allreduce, 3, 0, |_| (8, 8));
        assert_eq!(three.keys().copied().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2), (2, 1)]);
        assert_eq!(sums(Pattern::Allreduce, 7, 0, |_| (8, 0)), (4 * 2 + 6, 8 * 14));
        assert_eq!(sums(Pattern::Allreduce, 1, 0, |_| (8, 0)), (0, 0));
    }

    #[test]
    fn an_alltoall_sends_every_pair_its_part() {
        let three = all(Pattern::Alltoall, 3, 0, |_| (12, 12));
        assert_eq!(three.len(), 6);
        assert!(three.values().all(|flow| *flow == (1, 4)));
        assert_eq!(sums(Pattern::ReduceScatterBlock, 3, 0, |_| (12, 4)), (6, 24));
    }

    #[test]
    fn a_barrier_disseminates_and_a_scan_is_a_chain() {
        let five = all(Pattern::Barrier, 5, 0, |_| (0, 0));
        assert_eq!(five.len(), 15);
        assert_eq!(five.keys().filter(|(from, _)| *from == 3).copied().collect::<Vec<_>>(), [(3, 0), (3, 2), (3, 4)]);
        assert_eq!(all(Pattern::Scan, 3, 0, |_| (8, 8)), BTreeMap::from([((0, 1), (1, 8)), ((1, 2), (1, 8))]));
    }

    #[test]
    fn calls_count_together_as_they_count_alone() {
        let members = [4, 5, 6];
        let party = Party { members: &members, here: 1, root: 0, calls: 10, sent: 80, received: 0 };
        assert_eq!(messages(Pattern::Reduce, &party), [Flow { from: 5, to: 4, messages: 10, bytes: 80 }]);
    }

    #[test]
    fn any_pattern_of_any_size_is_counted_without_panic() {
        use Pattern::*;
        for pattern in [Barrier, Broadcast, Reduce, Allreduce, Gather, Gatherv, Scatter, Scatterv, Allgather, Alltoall, ReduceScatter, Scan]
        {
            for size in 1..20 {
                for root in 0..size {
                    sums(pattern, size, root, |_| (u64::MAX / 1000, u64::MAX / 1000));
                }
            }
        }
    }
}
