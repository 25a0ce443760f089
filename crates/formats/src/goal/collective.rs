//! Collectives as point-to-point messages, since GOAL has only sends and receives.
//!
//! The algorithms are those by which `sintonia graph` counts collectives, here as ordered rounds in which both ends of each message agree.
//! A rank knows only its own buffers, so where block sizes may differ (gatherv, scatterv, alltoallv and similar), the end that does not
//! know assumes equal blocks.

use sintonia_mpi::CollectiveOp;
use sintonia_mpi::binomial::{BinomialTree, powers_of_two};

/// Descriptions of the algorithms, for the schedule's comment.
pub(super) const ALGORITHMS: &[&str] = &[
    "broadcast, reduce, gather and scatter by a binomial tree; gatherv and scatterv straight to and from the root",
    "allgather and allgatherv by a ring; allreduce by recursive doubling; barrier by dissemination; scan and exscan by a chain",
    "alltoall and reduce_scatter, with their variants, by pairwise exchange of equal parts",
    "neighbourhood collectives straight to and from all neighbours",
    "creating and freeing communicators and windows, fences, collective file access and MPI_Finalize as a barrier",
];

/// One member's view of a collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct Participant {
    /// Number of members.
    pub size: usize,
    /// Index of this member.
    pub index: usize,
    /// Index of the root; 0 if there is none.
    pub root: usize,
    /// Bytes in its send buffer.
    pub sent: u64,
    /// Bytes in its receive buffer.
    pub received: u64,
}

/// Concurrent sends and receives of one member; the next round starts when all are complete. Peers are member indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageRound {
    /// Destinations with bytes.
    pub sends: Vec<(usize, u64)>,
    /// Sources with bytes.
    pub receives: Vec<(usize, u64)>,
}

/// The rounds of a collective for one member; empty for neighbourhood collectives, which do not use member indices.
pub(super) fn rounds(pattern: CollectiveOp, participant: &Participant) -> Vec<MessageRound> {
    if participant.size < 2 {
        return Vec::new();
    }
    let tree = BinomialTree { size: participant.size, root: participant.root };
    let (whole, size) = (participant.sent.max(participant.received), participant.size as u64);
    match pattern {
        CollectiveOp::Barrier => dissemination_barrier(participant),
        CollectiveOp::Broadcast => tree_down(tree, participant.index, |_| whole),
        CollectiveOp::Reduce => tree_up(tree, participant.index, |_| whole),
        CollectiveOp::Gather => {
            let block = if participant.index == participant.root { participant.received / size } else { participant.sent };
            tree_up(tree, participant.index, |branch| block.saturating_mul(branch))
        }
        CollectiveOp::Scatter => {
            let block = if participant.index == participant.root { participant.sent / size } else { participant.received };
            tree_down(tree, participant.index, |branch| block.saturating_mul(branch))
        }
        CollectiveOp::Gatherv => linear(
            participant,
            participant.received / size,
            |ends| MessageRound { receives: ends, ..MessageRound::default() },
            participant.sent,
        ),
        CollectiveOp::Scatterv => linear(
            participant,
            participant.sent / size,
            |ends| MessageRound { sends: ends, ..MessageRound::default() },
            participant.received,
        ),
        CollectiveOp::Allreduce => recursive_doubling(participant, whole),
        CollectiveOp::Allgather | CollectiveOp::Allgatherv => ring(participant, participant.received / size),
        CollectiveOp::Alltoall | CollectiveOp::Alltoallv | CollectiveOp::Alltoallw => {
            pairwise(participant, participant.sent / size, participant.received / size)
        }
        CollectiveOp::ReduceScatter | CollectiveOp::ReduceScatterBlock => {
            pairwise(participant, participant.sent / size, participant.received)
        }
        CollectiveOp::Scan | CollectiveOp::Exscan => chain(participant, whole),
        CollectiveOp::NeighborAllgather
        | CollectiveOp::NeighborAllgatherv
        | CollectiveOp::NeighborAlltoall
        | CollectiveOp::NeighborAlltoallv
        | CollectiveOp::NeighborAlltoallw => Vec::new(),
    }
}

/// Dissemination: in round k every member sends an empty message to the member 2^k further on.
pub(super) fn dissemination_barrier(participant: &Participant) -> Vec<MessageRound> {
    let exchange = |step| {
        exchange((participant.index + step) % participant.size, 0, (participant.index + participant.size - step) % participant.size, 0)
    };
    powers_of_two(participant.size).map(exchange).collect()
}

/// The root exchanges with every other member directly.
fn linear(participant: &Participant, share: u64, of_root: impl Fn(Vec<(usize, u64)>) -> MessageRound, own: u64) -> Vec<MessageRound> {
    if participant.index == participant.root {
        return vec![of_root(
            (0..participant.size).filter(|position| *position != participant.index).map(|position| (position, share)).collect(),
        )];
    }
    let MessageRound { sends, receives } = of_root(vec![(participant.root, own)]);
    vec![MessageRound { sends: receives, receives: sends }]
}

/// Recursive doubling: in round k members whose indices differ in bit k exchange the whole vector. If the size is not a power of two, the
/// surplus members first hand their vector to a neighbour and get the result back.
fn recursive_doubling(participant: &Participant, vector: u64) -> Vec<MessageRound> {
    let (size, index) = (participant.size, participant.index);
    let doubled = 1 << size.ilog2();
    let extra = size - doubled;
    // The first 2 * extra members form pairs; the odd one of each pair represents both.
    let paired = index < 2 * extra;
    if paired && index % 2 == 0 {
        return vec![send(index + 1, vector), receive(index + 1, vector)];
    }
    let position = if paired { index / 2 } else { index - extra };
    let member = |position: usize| if position < extra { 2 * position + 1 } else { position + extra };
    let doubling = powers_of_two(doubled).map(|bit| exchange(member(position ^ bit), vector, member(position ^ bit), vector));
    let before = paired.then(|| receive(index - 1, vector));
    let after = paired.then(|| send(index - 1, vector));
    before.into_iter().chain(doubling).chain(after).collect()
}

/// Ring: each block goes around once.
fn ring(participant: &Participant, block: u64) -> Vec<MessageRound> {
    let (next, before) = ((participant.index + 1) % participant.size, (participant.index + participant.size - 1) % participant.size);
    (1..participant.size).map(|_| exchange(next, block, before, block)).collect()
}

/// Pairwise exchange: in round k every member sends to the member k further on.
fn pairwise(participant: &Participant, sent: u64, received: u64) -> Vec<MessageRound> {
    let (index, size) = (participant.index, participant.size);
    (1..size).map(|step| exchange((index + step) % size, sent, (index + size - step) % size, received)).collect()
}

/// Chain: every member sends the partial result to the next one.
fn chain(participant: &Participant, vector: u64) -> Vec<MessageRound> {
    let before = participant.index.checked_sub(1).map(|before| receive(before, vector));
    let after = (participant.index + 1 < participant.size).then(|| send(participant.index + 1, vector));
    before.into_iter().chain(after).collect()
}

fn send(to: usize, bytes: u64) -> MessageRound {
    MessageRound { sends: vec![(to, bytes)], receives: Vec::new() }
}

fn receive(from: usize, bytes: u64) -> MessageRound {
    MessageRound { sends: Vec::new(), receives: vec![(from, bytes)] }
}

fn exchange(to: usize, sent: u64, from: usize, received: u64) -> MessageRound {
    MessageRound { sends: vec![(to, sent)], receives: vec![(from, received)] }
}

/// From the root down the tree; the bytes for a branch depend on its size.
fn tree_down(tree: BinomialTree, index: usize, bytes: impl Fn(u64) -> u64) -> Vec<MessageRound> {
    let branch = |position| bytes(tree.subtree_size(position) as u64);
    let from = tree.parent(index).map(|parent| receive(parent, branch(index)));
    let to = MessageRound { sends: tree.children(index).map(|child| (child, branch(child))).collect(), receives: Vec::new() };
    from.into_iter().chain((!to.sends.is_empty()).then_some(to)).collect()
}

/// Up the tree to the root.
fn tree_up(tree: BinomialTree, index: usize, bytes: impl Fn(u64) -> u64) -> Vec<MessageRound> {
    let turned = |round: MessageRound| MessageRound { sends: round.receives, receives: round.sends };
    tree_down(tree, index, bytes).into_iter().rev().map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const PATTERNS: [CollectiveOp; 17] = [
        CollectiveOp::Barrier,
        CollectiveOp::Broadcast,
        CollectiveOp::Reduce,
        CollectiveOp::Allreduce,
        CollectiveOp::Gather,
        CollectiveOp::Gatherv,
        CollectiveOp::Scatter,
        CollectiveOp::Scatterv,
        CollectiveOp::Allgather,
        CollectiveOp::Allgatherv,
        CollectiveOp::Alltoall,
        CollectiveOp::Alltoallv,
        CollectiveOp::Alltoallw,
        CollectiveOp::ReduceScatter,
        CollectiveOp::ReduceScatterBlock,
        CollectiveOp::Scan,
        CollectiveOp::Exscan,
    ];

    /// The buffers of a member when every block is 8 bytes.
    fn buffers(pattern: CollectiveOp, size: usize, is_root: bool) -> (u64, u64) {
        let whole = 8 * size as u64;
        match pattern {
            CollectiveOp::Gather | CollectiveOp::Gatherv => (8, if is_root { whole } else { 0 }),
            CollectiveOp::Scatter | CollectiveOp::Scatterv => (if is_root { whole } else { 0 }, 8),
            CollectiveOp::Allgather | CollectiveOp::Allgatherv => (8, whole),
            CollectiveOp::Alltoall | CollectiveOp::Alltoallv | CollectiveOp::Alltoallw => (whole, whole),
            CollectiveOp::ReduceScatter | CollectiveOp::ReduceScatterBlock => (whole, 8),
            _ => (8, 8),
        }
    }

    fn all(pattern: CollectiveOp, size: usize, root: usize) -> Vec<Vec<MessageRound>> {
        let of = |index| {
            let (sent, received) = buffers(pattern, size, index == root);
            rounds(pattern, &Participant { size, index, root, sent, received })
        };
        (0..size).map(of).collect()
    }

    /// Runs the rounds of all members; returns the number of messages, or `None` on deadlock.
    fn play(mut members: Vec<Vec<MessageRound>>) -> Option<usize> {
        let mut under_way: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
        let mut messages = 0;
        let mut begun = vec![false; members.len()];
        while members.iter().any(|rounds| !rounds.is_empty()) {
            let mut progress = false;
            for index in 0..members.len() {
                let Some(round) = members[index].first().cloned() else { continue };
                if !std::mem::replace(&mut begun[index], true) {
                    progress = true;
                    messages += round.sends.len();
                    round.sends.iter().for_each(|(to, bytes)| under_way.entry((index, *to)).or_default().push(*bytes));
                }
                let arrived = |(from, bytes): &(usize, u64)| under_way.get(&(*from, index)).is_some_and(|list| list.first() == Some(bytes));
                if round.receives.iter().all(arrived) {
                    progress = true;
                    round.receives.iter().for_each(|(from, _)| _ = under_way.get_mut(&(*from, index)).map(|list| list.remove(0)));
                    members[index].remove(0);
                    begun[index] = false;
                }
            }
            if !progress {
                return None;
            }
        }
        under_way.values().all(Vec::is_empty).then_some(messages)
    }

    #[test]
    fn both_ends_of_a_message_agree_and_there_is_no_deadlock() {
        for pattern in PATTERNS {
            for size in [1, 2, 3, 4, 5, 7, 8, 13] {
                for root in 0..size {
                    assert!(play(all(pattern, size, root)).is_some(), "{pattern:?} of {size} with root {root}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_messages_is_that_of_the_algorithm() {
        let messages = |pattern| play(all(pattern, 6, 1)).unwrap();
        assert_eq!(messages(CollectiveOp::Barrier), 6 * 3);
        assert_eq!(
            [CollectiveOp::Broadcast, CollectiveOp::Reduce, CollectiveOp::Gather, CollectiveOp::Scatterv, CollectiveOp::Scan].map(messages),
            [5; 5]
        );
        assert_eq!([CollectiveOp::Allgather, CollectiveOp::Alltoall, CollectiveOp::ReduceScatter].map(messages), [30; 3]);
        assert_eq!(messages(CollectiveOp::Allreduce), 4 * 2 + 4, "four members double, two pairs hand over and back");
    }

    #[test]
    fn a_gather_sends_whole_branches() {
        let rounds = all(CollectiveOp::Gather, 6, 0);
        assert_eq!(rounds[4], [receive(5, 8), send(0, 16)]);
        assert_eq!(rounds[0], [MessageRound { sends: Vec::new(), receives: vec![(1, 8), (2, 16), (4, 16)] }]);
    }
}
