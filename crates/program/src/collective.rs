//! The messages of collectives, by the algorithms of [`sintonia_collective`].
//!
//! Every rank counts its own part from its own calls: what it sends or, where only the receiver knows the size, what it receives. Summed
//! over all ranks, each message is counted once.

use std::collections::BTreeMap;

use sintonia_collective::{LibraryRules, Participant, choose_algorithm, rounds};
use sintonia_mpi::CollectiveOp;

use crate::MessageFlow;

/// One rank's part in identical collective calls on a communicator.
#[derive(Clone, Copy)]
pub(crate) struct MemberCalls<'a> {
    /// The MPI library, if known.
    pub library: Option<LibraryRules>,
    /// World ranks of the members.
    pub members: &'a [i32],
    /// Index of this rank among the members.
    pub own_index: u32,
    /// Index of the root; 0 if there is none.
    pub root_index: u32,
    /// Number of calls.
    pub calls: u64,
    /// Bytes in its send buffer.
    pub sent: u64,
    /// Bytes in its receive buffer.
    pub received: u64,
}

/// The messages of a collective on an intracommunicator; none for neighbourhood collectives, which do not depend on the index in the group.
pub(crate) fn message_flows(op: CollectiveOp, calls: &MemberCalls) -> Vec<MessageFlow> {
    let participant = Participant::new(op, calls.size(), calls.own_index, calls.root_index, calls.sent, calls.received);
    calls.flows(op, participant)
}

impl MemberCalls<'_> {
    fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// The messages of a collective among the members with this vector or block; the root is that of the calls.
    pub(crate) fn flows_of(&self, op: CollectiveOp, bytes: u64) -> Vec<MessageFlow> {
        self.flows(op, Participant { size: self.size(), rank: self.own_index, root: self.root_index, bytes })
    }

    fn flows(&self, op: CollectiveOp, participant: Participant) -> Vec<MessageFlow> {
        let Some(algorithm) = choose_algorithm(self.library, op, participant.size, participant.bytes) else { return Vec::new() };
        // Messages and bytes of one call, by peer.
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for round in rounds(algorithm, op, participant) {
            for message in if is_counted_by_receiver(op) { round.receives } else { round.sends } {
                let sum = sums.entry(message.peer).or_default();
                *sum = (sum.0 + 1, sum.1.saturating_add(message.bytes));
            }
        }
        let own = self.members[self.own_index as usize];
        let flow = |(peer, (messages, bytes)): (u32, (u64, u64))| {
            let peer = self.members[peer as usize];
            let (from, to) = if is_counted_by_receiver(op) { (peer, own) } else { (own, peer) };
            MessageFlow { from, to, messages: messages.saturating_mul(self.calls), bytes: bytes.saturating_mul(self.calls) }
        };
        sums.into_iter().map(flow).collect()
    }
}

/// Whether only the receivers know the size of their messages: the root of a scatterv has the sum.
const fn is_counted_by_receiver(op: CollectiveOp) -> bool {
    matches!(op, CollectiveOp::Scatterv)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_collective::op_names;

    const LIBRARIES: [Option<LibraryRules>; 3] = [Some(LibraryRules::OpenMpi), Some(LibraryRules::Mpich), None];

    /// Messages and bytes by sender and receiver.
    type Flows = BTreeMap<(i32, i32), (u64, u64)>;

    fn add(flows: &mut Flows, from: i32, to: i32, messages: u64, bytes: u64) {
        assert!(from != to, "{from} sends to itself");
        let sum = flows.entry((from, to)).or_default();
        *sum = (sum.0 + messages, sum.1.saturating_add(bytes));
    }

    /// All messages of one call over all members; a function gives each rank's buffers.
    fn all(library: Option<LibraryRules>, op: CollectiveOp, size: u32, root: u32, buffers: impl Fn(u32) -> (u64, u64)) -> Flows {
        let members: Vec<i32> = (0..size as i32).collect();
        let mut sum = Flows::new();
        for own_index in 0..size {
            let (sent, received) = buffers(own_index);
            let calls = MemberCalls { library, members: &members, own_index, root_index: root, calls: 1, sent, received };
            message_flows(op, &calls).into_iter().for_each(|flow| add(&mut sum, flow.from, flow.to, flow.messages, flow.bytes));
        }
        sum
    }

    /// The buffers of a rank when every vector or block has this size.
    fn equal_buffers(op: CollectiveOp, size: u32, is_root: bool, bytes: u64) -> (u64, u64) {
        use CollectiveOp::*;
        let whole = bytes * u64::from(size);
        match op {
            Barrier => (0, 0),
            Broadcast => {
                if is_root {
                    (bytes, 0)
                } else {
                    (0, bytes)
                }
            }
            Reduce => (bytes, if is_root { bytes } else { 0 }),
            Gather | Gatherv => (bytes, if is_root { whole } else { 0 }),
            Scatter | Scatterv => (if is_root { whole } else { 0 }, bytes),
            Allgather | Allgatherv => (bytes, whole),
            Alltoall | Alltoallv | Alltoallw => (whole, whole),
            ReduceScatter | ReduceScatterBlock => (whole, bytes),
            _ => (bytes, bytes),
        }
    }

    #[test]
    fn messages_are_those_of_the_algorithm_that_the_library_selects() {
        for (library, op) in LIBRARIES.into_iter().flat_map(|library| op_names::selectable_ops().map(move |op| (library, op))) {
            for (size, bytes) in
                [1, 2, 3, 4, 5, 7, 8, 16, 17].into_iter().flat_map(|size| [0, 8, 3_000, 100_000].map(|bytes| (size, bytes)))
            {
                let root = size / 2;
                let counted = all(library, op, size, root, |rank| equal_buffers(op, size, rank == root, bytes));
                let bytes = if op == CollectiveOp::Barrier { 0 } else { bytes };
                let algorithm = choose_algorithm(library, op, size, bytes).unwrap();
                let mut expected = Flows::new();
                for rank in 0..size {
                    let sends = rounds(algorithm, op, Participant { size, rank, root, bytes }).flat_map(|round| round.sends);
                    sends.for_each(|message| add(&mut expected, rank as i32, message.peer as i32, 1, message.bytes));
                }
                assert_eq!(counted, expected, "{library:?}: {op:?} of {bytes} bytes by {size}");
            }
        }
    }

    #[test]
    fn the_library_decides_which_ranks_communicate() {
        let pairs = |library| all(library, CollectiveOp::Broadcast, 5, 0, |_| (100, 100)).into_keys().collect::<Vec<_>>();
        assert_eq!(pairs(None), [(0, 1), (0, 2), (0, 4), (2, 3)], "binomial tree: the parent of 3 is 2");
        assert_eq!(pairs(Some(LibraryRules::OpenMpi)), [(0, 1), (0, 2), (0, 4), (1, 3)], "binomial tree by doubling: the parent of 3 is 1");
    }

    #[test]
    fn gatherv_and_scatterv_count_every_block_with_its_own_size() {
        let sizes = |own_index: u32| (u64::from(own_index), u64::from(own_index) * 10);
        for library in LIBRARIES {
            let gathered = all(library, CollectiveOp::Gatherv, 3, 1, |rank| (sizes(rank).0, if rank == 1 { 3 } else { 0 }));
            assert_eq!(gathered, Flows::from([((0, 1), (1, 0)), ((2, 1), (1, 2))]));
            let scattered = all(library, CollectiveOp::Scatterv, 3, 1, |rank| (if rank == 1 { 30 } else { 0 }, sizes(rank).1));
            assert_eq!(scattered, Flows::from([((1, 0), (1, 0)), ((1, 2), (1, 20))]));
        }
    }

    #[test]
    fn an_alltoallv_counts_what_each_rank_sends() {
        for library in LIBRARIES {
            let skewed = all(library, CollectiveOp::Alltoallv, 3, 0, |rank| (if rank == 0 { 30 } else { 0 }, 10));
            let bytes: Vec<u64> = skewed.into_values().map(|flow| flow.1).collect();
            assert_eq!(bytes, [10, 10, 0, 0, 0, 0], "{library:?}");
        }
    }

    #[test]
    fn calls_count_together_as_they_count_alone() {
        let members = [4, 5, 6];
        let calls = MemberCalls { library: None, members: &members, own_index: 1, root_index: 0, calls: 10, sent: 8, received: 0 };
        assert_eq!(message_flows(CollectiveOp::Reduce, &calls), [MessageFlow { from: 5, to: 4, messages: 10, bytes: 80 }]);
    }

    #[test]
    fn any_collective_of_any_size_is_counted_without_panic() {
        for (library, op) in LIBRARIES.into_iter().flat_map(|library| op_names::selectable_ops().map(move |op| (library, op))) {
            for (size, root) in (1..20).flat_map(|size| (0..size).map(move |root| (size, root))) {
                all(library, op, size, root, |_| (1 << 20, 1 << 20));
            }
        }
    }
}
