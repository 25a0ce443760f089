//! The messages of collectives, with one commonly used algorithm per operation.
//!
//! MPI does not define how a collective communicates, and libraries do not say. Messages are therefore counted as a common algorithm would
//! send them ([`ALGORITHMS`] names them in the output). Every rank counts its own part from its own calls: what it sends or, where only the
//! receiver knows the size, what it receives. Summed over all ranks, each message is counted once.
//!
//! `sent` and `received` of a collective call are the bytes of its whole send and receive buffers. All algorithms here send amounts
//! proportional to them, so calls can be summed first and counted together.

use sintonia_mpi::CollectiveOp;
use sintonia_mpi::binomial::{BinomialTree, powers_of_two};

use crate::MessageFlow;

/// The algorithms by which collectives are counted, as written into the output.
pub(crate) const ALGORITHMS: &[&str] = &[
    "broadcast, reduce, gather and scatter by a binomial tree; gatherv and scatterv straight to and from the root",
    "allgather and allgatherv by a ring; allreduce by recursive doubling; barrier by dissemination; scan and exscan by a chain",
    "alltoall and reduce_scatter, with their variants, by pairwise exchange of equal parts",
    "neighbourhood collectives straight to all neighbours, in equal parts",
];

/// One rank's part in identical collective calls on a communicator.
#[derive(Clone, Copy)]
pub(crate) struct MemberTraffic<'a> {
    /// World ranks of the members.
    pub members: &'a [i32],
    /// Index of this rank among the members.
    pub own_index: usize,
    /// Index of the root; 0 if there is none.
    pub root_index: usize,
    /// Number of calls.
    pub calls: u64,
    /// Bytes in its send buffers, summed over all calls.
    pub sent: u64,
    /// Bytes in its receive buffers, summed over all calls.
    pub received: u64,
}

/// The messages of a collective on an intracommunicator; none for neighbourhood collectives, which do not depend on the index in the group.
pub(crate) fn message_flows(op: CollectiveOp, traffic: &MemberTraffic) -> Vec<MessageFlow> {
    match op {
        CollectiveOp::Barrier => barrier(traffic),
        CollectiveOp::Broadcast => broadcast(traffic, traffic.message_bytes()),
        CollectiveOp::Reduce => reduce(traffic, traffic.message_bytes()),
        CollectiveOp::Allreduce => allreduce(traffic),
        CollectiveOp::Gather => gather(traffic),
        CollectiveOp::Gatherv => gatherv(traffic),
        CollectiveOp::Scatter => scatter(traffic, traffic.block_bytes()),
        CollectiveOp::Scatterv => scatterv(traffic),
        CollectiveOp::Allgather | CollectiveOp::Allgatherv => allgather(traffic),
        CollectiveOp::Alltoall
        | CollectiveOp::Alltoallv
        | CollectiveOp::Alltoallw
        | CollectiveOp::ReduceScatter
        | CollectiveOp::ReduceScatterBlock => alltoall(traffic),
        CollectiveOp::Scan | CollectiveOp::Exscan => scan(traffic),
        CollectiveOp::NeighborAllgather
        | CollectiveOp::NeighborAllgatherv
        | CollectiveOp::NeighborAlltoall
        | CollectiveOp::NeighborAlltoallv
        | CollectiveOp::NeighborAlltoallw => Vec::new(),
    }
}

impl MemberTraffic<'_> {
    fn size(&self) -> usize {
        self.members.len()
    }

    /// One message per call to another member.
    pub(crate) fn send_to(&self, to: usize, bytes: u64) -> MessageFlow {
        MessageFlow { from: self.members[self.own_index], to: self.members[to], messages: self.calls, bytes }
    }

    /// Messages from another member, where only the receiver knows their size.
    fn receive_from(&self, from: usize, messages: u64, bytes: u64) -> MessageFlow {
        MessageFlow { from: self.members[from], to: self.members[self.own_index], messages, bytes }
    }

    /// The message size where all members have the same, whichever buffer it is in.
    pub(crate) fn message_bytes(&self) -> u64 {
        self.sent.max(self.received)
    }

    /// The block of one member in a scatter; the root holds all of them in its send buffer.
    fn block_bytes(&self) -> u64 {
        match self.own_index == self.root_index {
            true => self.sent / self.size() as u64,
            false => self.received,
        }
    }

    fn tree(&self) -> BinomialTree {
        BinomialTree { size: self.size(), root: self.root_index }
    }
}

/// Dissemination: in round k every member sends an empty message to the member 2^k further on.
fn barrier(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    powers_of_two(traffic.size()).map(|step| traffic.send_to((traffic.own_index + step) % traffic.size(), 0)).collect()
}

/// Binomial tree: every member forwards the message to its children.
pub(crate) fn broadcast(traffic: &MemberTraffic, message: u64) -> Vec<MessageFlow> {
    traffic.tree().children(traffic.own_index).map(|child| traffic.send_to(child, message)).collect()
}

/// Binomial tree: every member sends its partial result to its parent.
pub(crate) fn reduce(traffic: &MemberTraffic, message: u64) -> Vec<MessageFlow> {
    traffic.tree().parent(traffic.own_index).map(|parent| traffic.send_to(parent, message)).into_iter().collect()
}

/// Binomial tree: every member sends the blocks of its subtree to its parent.
pub(crate) fn gather(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let blocks = traffic.tree().subtree_size(traffic.own_index) as u64;
    let bytes = traffic.sent.saturating_mul(blocks);
    traffic.tree().parent(traffic.own_index).map(|parent| traffic.send_to(parent, bytes)).into_iter().collect()
}

/// Direct to the root: only the root knows the other sizes.
fn gatherv(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let away = traffic.own_index != traffic.root_index;
    away.then(|| traffic.send_to(traffic.root_index, traffic.sent)).into_iter().collect()
}

/// Binomial tree: every member sends each child the blocks of the child's subtree.
pub(crate) fn scatter(traffic: &MemberTraffic, block: u64) -> Vec<MessageFlow> {
    let tree = traffic.tree();
    tree.children(traffic.own_index).map(|child| traffic.send_to(child, block.saturating_mul(tree.subtree_size(child) as u64))).collect()
}

/// Direct from the root; counted by the receivers, which know their own sizes.
fn scatterv(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let away = traffic.own_index != traffic.root_index;
    away.then(|| traffic.receive_from(traffic.root_index, traffic.calls, traffic.received)).into_iter().collect()
}

/// Ring: every member receives all blocks but its own from its predecessor; counted by the receiver.
fn allgather(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let size = traffic.size();
    if size < 2 {
        return Vec::new();
    }
    let before = (traffic.own_index + size - 1) % size;
    vec![traffic.receive_from(before, traffic.calls * (size as u64 - 1), traffic.received.saturating_sub(traffic.sent))]
}

/// Recursive doubling: in round k every member exchanges the whole vector with the member whose index differs in bit k. If the size is not
/// a power of two, the surplus members first send their vector to a neighbour and get the result back.
fn allreduce(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let (size, own_index, vector) = (traffic.size(), traffic.own_index, traffic.message_bytes());
    let doubled = 1 << size.max(1).ilog2();
    let extra = size - doubled;
    // The first 2 * extra members form pairs; the odd one of each pair participates for both.
    let (takes_part, index) = if own_index < 2 * extra { (own_index % 2 == 1, own_index / 2) } else { (true, own_index - extra) };
    if !takes_part {
        return vec![traffic.send_to(own_index + 1, vector)];
    }
    let member = |index: usize| if index < extra { 2 * index + 1 } else { index + extra };
    let rounds = powers_of_two(doubled).map(|bit| traffic.send_to(member(index ^ bit), vector));
    let result = (own_index < 2 * extra).then(|| traffic.send_to(own_index - 1, vector));
    rounds.chain(result).collect()
}

/// Pairwise exchange: every member sends every other member a part. The parts are assumed equal because their sizes are not recorded.
fn alltoall(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let part = traffic.sent / traffic.size() as u64;
    (0..traffic.size()).filter(|to| *to != traffic.own_index).map(|to| traffic.send_to(to, part)).collect()
}

/// Chain: every member sends its partial result to the next.
fn scan(traffic: &MemberTraffic) -> Vec<MessageFlow> {
    let next = traffic.own_index + 1;
    (next < traffic.size()).then(|| traffic.send_to(next, traffic.message_bytes())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// All messages of one call over all members: (from, to) to (messages, bytes); a function gives each rank's buffers.
    fn all(op: CollectiveOp, size: usize, root: usize, buffers: impl Fn(usize) -> (u64, u64)) -> BTreeMap<(i32, i32), (u64, u64)> {
        let members: Vec<i32> = (0..size as i32).collect();
        let mut sum = BTreeMap::new();
        for own_index in 0..size {
            let (sent, received) = buffers(own_index);
            let traffic = MemberTraffic { members: &members, own_index, root_index: root, calls: 1, sent, received };
            for flow in message_flows(op, &traffic) {
                assert!(flow.from != flow.to, "{op:?} sends to itself");
                let entry: &mut (u64, u64) = sum.entry((flow.from, flow.to)).or_default();
                entry.0 += flow.messages;
                entry.1 += flow.bytes;
            }
        }
        sum
    }

    /// Total messages and bytes of one call.
    fn sums(op: CollectiveOp, size: usize, root: usize, buffers: impl Fn(usize) -> (u64, u64)) -> (u64, u64) {
        all(op, size, root, buffers).values().fold((0, 0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1))
    }

    const SIZES: [usize; 7] = [1, 2, 3, 4, 5, 7, 16];

    #[test]
    fn a_broadcast_reaches_everyone_once_through_a_binomial_tree() {
        let expected = [((1, 2), (1, 8)), ((1, 3), (1, 8)), ((1, 5), (1, 8)), ((3, 4), (1, 8)), ((5, 0), (1, 8))];
        let buffers = |own_index| if own_index == 1 { (8, 0) } else { (0, 8) };
        assert_eq!(all(CollectiveOp::Broadcast, 6, 1, buffers), BTreeMap::from(expected));
        for size in SIZES {
            let others = size as u64 - 1;
            assert_eq!(sums(CollectiveOp::Broadcast, size, size / 2, |_| (8, 0)), (others, 8 * others));
        }
    }

    #[test]
    fn a_reduce_is_a_broadcast_backwards() {
        for size in SIZES {
            let there = all(CollectiveOp::Broadcast, size, size - 1, |_| (8, 0));
            let back = all(CollectiveOp::Reduce, size, size - 1, |_| (8, 0));
            assert_eq!(back, there.into_iter().map(|((from, to), flow)| ((to, from), flow)).collect());
        }
    }

    #[test]
    fn a_gather_sends_whole_branches_and_a_scatter_brings_them_back() {
        let gathered = all(CollectiveOp::Gather, 6, 0, |_| (10, 0));
        let expected = [((1, 0), (1, 10)), ((2, 0), (1, 20)), ((3, 2), (1, 10)), ((4, 0), (1, 20)), ((5, 4), (1, 10))];
        assert_eq!(gathered, BTreeMap::from(expected));
        let scattered = all(CollectiveOp::Scatter, 6, 0, |own_index| if own_index == 0 { (60, 0) } else { (0, 10) });
        assert_eq!(scattered, gathered.into_iter().map(|((from, to), flow)| ((to, from), flow)).collect());
    }

    #[test]
    fn gatherv_and_scatterv_go_straight_to_and_from_the_root() {
        let sizes = |own_index: usize| (own_index as u64, own_index as u64 * 10);
        assert_eq!(all(CollectiveOp::Gatherv, 3, 1, sizes), BTreeMap::from([((0, 1), (1, 0)), ((2, 1), (1, 2))]));
        assert_eq!(all(CollectiveOp::Scatterv, 3, 1, sizes), BTreeMap::from([((1, 0), (1, 0)), ((1, 2), (1, 20))]));
    }

    #[test]
    fn an_allgather_goes_around_in_a_ring() {
        let equal = all(CollectiveOp::Allgather, 3, 0, |_| (4, 12));
        assert_eq!(equal, BTreeMap::from([((0, 1), (2, 8)), ((1, 2), (2, 8)), ((2, 0), (2, 8))]));
        let different = all(CollectiveOp::Allgatherv, 3, 0, |own_index| (own_index as u64 + 1, 6));
        assert_eq!(different, BTreeMap::from([((2, 0), (2, 5)), ((0, 1), (2, 4)), ((1, 2), (2, 3))]));
    }

    #[test]
    fn an_allreduce_doubles_and_folds_what_is_beyond_a_power_of_two() {
        let four = all(CollectiveOp::Allreduce, 4, 0, |_| (8, 8));
        assert_eq!(four.keys().copied().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)]);
        let three = all(CollectiveOp::Allreduce, 3, 0, |_| (8, 8));
        assert_eq!(three.keys().copied().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2), (2, 1)]);
        assert_eq!(sums(CollectiveOp::Allreduce, 7, 0, |_| (8, 0)), (4 * 2 + 6, 8 * 14));
        assert_eq!(sums(CollectiveOp::Allreduce, 1, 0, |_| (8, 0)), (0, 0));
    }

    #[test]
    fn an_alltoall_sends_every_pair_its_part() {
        let three = all(CollectiveOp::Alltoall, 3, 0, |_| (12, 12));
        assert_eq!(three.len(), 6);
        assert!(three.values().all(|flow| *flow == (1, 4)));
        assert_eq!(sums(CollectiveOp::ReduceScatterBlock, 3, 0, |_| (12, 4)), (6, 24));
    }

    #[test]
    fn a_barrier_disseminates_and_a_scan_is_a_chain() {
        let five = all(CollectiveOp::Barrier, 5, 0, |_| (0, 0));
        assert_eq!(five.len(), 15);
        assert_eq!(five.keys().filter(|(from, _)| *from == 3).copied().collect::<Vec<_>>(), [(3, 0), (3, 2), (3, 4)]);
        assert_eq!(all(CollectiveOp::Scan, 3, 0, |_| (8, 8)), BTreeMap::from([((0, 1), (1, 8)), ((1, 2), (1, 8))]));
    }

    #[test]
    fn calls_count_together_as_they_count_alone() {
        let members = [4, 5, 6];
        let traffic = MemberTraffic { members: &members, own_index: 1, root_index: 0, calls: 10, sent: 80, received: 0 };
        assert_eq!(message_flows(CollectiveOp::Reduce, &traffic), [MessageFlow { from: 5, to: 4, messages: 10, bytes: 80 }]);
    }

    #[test]
    fn any_pattern_of_any_size_is_counted_without_panic() {
        use CollectiveOp::*;
        for op in [Barrier, Broadcast, Reduce, Allreduce, Gather, Gatherv, Scatter, Scatterv, Allgather, Alltoall, ReduceScatter, Scan] {
            for size in 1..20 {
                for root in 0..size {
                    sums(op, size, root, |_| (u64::MAX / 1000, u64::MAX / 1000));
                }
            }
        }
    }
}
