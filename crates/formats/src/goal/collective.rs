//! Collective operations as the messages of usual algorithms, since GOAL knows only sends and receives.
//!
//! The algorithms are those by which `sintonia graph` counts collectives; here they are in order, and both ends of each message say the
//! same. A rank knows its own buffers only, so where parts may differ in size (gatherv, scatterv, alltoallv and their kin) the end that
//! does not know takes them as equal.

use sintonia_mpi::Pattern;
use sintonia_mpi::binomial::{Tree, powers};

/// The algorithms, for the people who read the schedule.
pub const ALGORITHMS: &[&str] = &[
    "broadcast, reduce, gather and scatter by a binomial tree; gatherv and scatterv straight to and from the root",
    "allgather and allgatherv by a ring; allreduce by recursive doubling; barrier by dissemination; scan and exscan by a chain",
    "alltoall and reduce_scatter, with their variants, by pairwise exchange of equal parts",
    "neighbourhood collectives straight to and from all neighbours",
    "making and freeing communicators and windows, fences, collective file access and MPI_Finalize as a barrier",
];

/// One rank's part in a collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Party {
    /// How many members the group has.
    pub size: usize,
    /// The place of this rank among them.
    pub here: usize,
    /// The place of the root; 0 where there is none.
    pub root: usize,
    /// Bytes in its send buffer.
    pub sent: u64,
    /// Bytes in its receive buffer.
    pub received: u64,
}

/// What a member sends and receives at the same time; the next round begins when all of it is done. Ends are places in the group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// To whom, and how many bytes.
    pub sends: Vec<(usize, u64)>,
    /// From whom, and how many bytes.
    pub receives: Vec<(usize, u64)>,
}

/// The rounds of a collective for one member; none for neighbourhood collectives, which do not go by place in the group.
pub fn rounds(pattern: Pattern, party: &Party) -> Vec<Round> {
    if party.size < 2 {
        return Vec::new();
    }
    let tree = Tree { size: party.size, root: party.root };
    let (whole, size) = (party.sent.max(party.received), party.size as u64);
    match pattern {
        Pattern::Barrier => barrier(party),
        Pattern::Broadcast => down(tree, party.here, |_| whole),
        Pattern::Reduce => up(tree, party.here, |_| whole),
        Pattern::Gather => {
            let block = if party.here == party.root { party.received / size } else { party.sent };
            up(tree, party.here, |branch| block.saturating_mul(branch))
        }
        Pattern::Scatter => {
            let block = if party.here == party.root { party.sent / size } else { party.received };
            down(tree, party.here, |branch| block.saturating_mul(branch))
        }
        Pattern::Gatherv => star(party, party.received / size, |ends| Round { receives: ends, ..Round::default() }, party.sent),
        Pattern::Scatterv => star(party, party.sent / size, |ends| Round { sends: ends, ..Round::default() }, party.received),
        Pattern::Allreduce => allreduce(party, whole),
        Pattern::Allgather | Pattern::Allgatherv => ring(party, party.received / size),
        Pattern::Alltoall | Pattern::Alltoallv | Pattern::Alltoallw => pairwise(party, party.sent / size, party.received / size),
        Pattern::ReduceScatter | Pattern::ReduceScatterBlock => pairwise(party, party.sent / size, party.received),
        Pattern::Scan | Pattern::Exscan => chain(party, whole),
        Pattern::NeighborAllgather
        | Pattern::NeighborAllgatherv
        | Pattern::NeighborAlltoall
        | Pattern::NeighborAlltoallv
        | Pattern::NeighborAlltoallw => Vec::new(),
    }
}

/// Dissemination: in round k everyone sends an empty message 2^k places on.
pub fn barrier(party: &Party) -> Vec<Round> {
    let exchange = |step| exchange((party.here + step) % party.size, 0, (party.here + party.size - step) % party.size, 0);
    powers(party.size).map(exchange).collect()
}

/// The root exchanges with everyone else at once.
fn star(party: &Party, share: u64, of_root: impl Fn(Vec<(usize, u64)>) -> Round, own: u64) -> Vec<Round> {
    if party.here == party.root {
        return vec![of_root((0..party.size).filter(|place| *place != party.here).map(|place| (place, share)).collect())];
    }
    let Round { sends, receives } = of_root(vec![(party.root, own)]);
    vec![Round { sends: receives, receives: sends }]
}

/// Recursive doubling: in round k everyone exchanges the whole vector with the member whose place differs in bit k. Where the size is no
/// power of two, members beyond it hand their vector to a neighbour first and get the result back.
fn allreduce(party: &Party, vector: u64) -> Vec<Round> {
    let (size, here) = (party.size, party.here);
    let doubled = 1 << size.ilog2();
    let extra = size - doubled;
    // The first 2 * extra members form pairs; the odd one of each takes part for both.
    let paired = here < 2 * extra;
    if paired && here % 2 == 0 {
        return vec![send(here + 1, vector), receive(here + 1, vector)];
    }
    let place = if paired { here / 2 } else { here - extra };
    let member = |place: usize| if place < extra { 2 * place + 1 } else { place + extra };
    let doubling = powers(doubled).map(|bit| exchange(member(place ^ bit), vector, member(place ^ bit), vector));
    let before = paired.then(|| receive(here - 1, vector));
    let after = paired.then(|| send(here - 1, vector));
    before.into_iter().chain(doubling).chain(after).collect()
}

/// Ring: each block goes once around.
fn ring(party: &Party, block: u64) -> Vec<Round> {
    let (next, before) = ((party.here + 1) % party.size, (party.here + party.size - 1) % party.size);
    (1..party.size).map(|_| exchange(next, block, before, block)).collect()
}

/// Pairwise exchange: in round k everyone sends to the member k places on.
fn pairwise(party: &Party, sent: u64, received: u64) -> Vec<Round> {
    let (here, size) = (party.here, party.size);
    (1..size).map(|step| exchange((here + step) % size, sent, (here + size - step) % size, received)).collect()
}

/// Chain: everyone sends the sum so far to the next member.
fn chain(party: &Party, vector: u64) -> Vec<Round> {
    let before = party.here.checked_sub(1).map(|before| receive(before, vector));
    let after = (party.here + 1 < party.size).then(|| send(party.here + 1, vector));
    before.into_iter().chain(after).collect()
}

fn send(to: usize, bytes: u64) -> Round {
    Round { sends: vec![(to, bytes)], receives: Vec::new() }
}

fn receive(from: usize, bytes: u64) -> Round {
    Round { sends: Vec::new(), receives: vec![(from, bytes)] }
}

fn exchange(to: usize, sent: u64, from: usize, received: u64) -> Round {
    Round { sends: vec![(to, sent)], receives: vec![(from, received)] }
}

/// From the root to everyone; the bytes for a branch depend on how many places it has.
fn down(tree: Tree, here: usize, bytes: impl Fn(u64) -> u64) -> Vec<Round> {
    let branch = |place| bytes(tree.branch(place) as u64);
    let from = tree.parent(here).map(|parent| receive(parent, branch(here)));
    let to = Round { sends: tree.children(here).map(|child| (child, branch(child))).collect(), receives: Vec::new() };
    from.into_iter().chain((!to.sends.is_empty()).then_some(to)).collect()
}

/// From everyone to the root.
fn up(tree: Tree, here: usize, bytes: impl Fn(u64) -> u64) -> Vec<Round> {
    let turned = |round: Round| Round { sends: round.receives, receives: round.sends };
    down(tree, here, bytes).into_iter().rev().map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const PATTERNS: [Pattern; 17] = [
        Pattern::Barrier,
        Pattern::Broadcast,
        Pattern::Reduce,
        Pattern::Allreduce,
        Pattern::Gather,
        Pattern::Gatherv,
        Pattern::Scatter,
        Pattern::Scatterv,
        Pattern::Allgather,
        Pattern::Allgatherv,
        Pattern::Alltoall,
        Pattern::Alltoallv,
        Pattern::Alltoallw,
        Pattern::ReduceScatter,
        Pattern::ReduceScatterBlock,
        Pattern::Scan,
        Pattern::Exscan,
    ];

    /// The buffers that a member has when everyone's block is 8 bytes.
    fn buffers(pattern: Pattern, size: usize, is_root: bool) -> (u64, u64) {
        let whole = 8 * size as u64;
        match pattern {
            Pattern::Gather | Pattern::Gatherv => (8, if is_root { whole } else { 0 }),
            Pattern::Scatter | Pattern::Scatterv => (if is_root { whole } else { 0 }, 8),
            Pattern::Allgather | Pattern::Allgatherv => (8, whole),
            Pattern::Alltoall | Pattern::Alltoallv | Pattern::Alltoallw => (whole, whole),
            Pattern::ReduceScatter | Pattern::ReduceScatterBlock => (whole, 8),
            _ => (8, 8),
        }
    }

    fn all(pattern: Pattern, size: usize, root: usize) -> Vec<Vec<Round>> {
        let of = |here| {
            let (sent, received) = buffers(pattern, size, here == root);
            rounds(pattern, &Party { size, here, root, sent, received })
        };
        (0..size).map(of).collect()
    }

    /// Plays the rounds of all members; the number of messages, or `None` if some wait forever.
    fn play(mut members: Vec<Vec<Round>>) -> Option<usize> {
        let mut under_way: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
        let mut messages = 0;
        let mut begun = vec![false; members.len()];
        while members.iter().any(|rounds| !rounds.is_empty()) {
            let mut progress = false;
            for here in 0..members.len() {
                let Some(round) = members[here].first().cloned() else { continue };
                if !std::mem::replace(&mut begun[here], true) {
                    progress = true;
                    messages += round.sends.len();
                    round.sends.iter().for_each(|(to, bytes)| under_way.entry((here, *to)).or_default().push(*bytes));
                }
                let arrived = |(from, bytes): &(usize, u64)| under_way.get(&(*from, here)).is_some_and(|list| list.first() == Some(bytes));
                if round.receives.iter().all(arrived) {
                    progress = true;
                    round.receives.iter().for_each(|(from, _)| _ = under_way.get_mut(&(*from, here)).map(|list| list.remove(0)));
                    members[here].remove(0);
                    begun[here] = false;
                }
            }
            if !progress {
                return None;
            }
        }
        under_way.values().all(Vec::is_empty).then_some(messages)
    }

    #[test]
    fn every_message_is_sent_and_received_with_one_size_and_nobody_waits_forever() {
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
        assert_eq!(messages(Pattern::Barrier), 6 * 3);
        assert_eq!([Pattern::Broadcast, Pattern::Reduce, Pattern::Gather, Pattern::Scatterv, Pattern::Scan].map(messages), [5; 5]);
        assert_eq!([Pattern::Allgather, Pattern::Alltoall, Pattern::ReduceScatter].map(messages), [30; 3]);
        assert_eq!(messages(Pattern::Allreduce), 4 * 2 + 4, "four members double, two pairs hand over and back");
    }

    #[test]
    fn a_gather_sends_whole_branches() {
        let rounds = all(Pattern::Gather, 6, 0);
        assert_eq!(rounds[4], [receive(5, 8), send(0, 16)]);
        assert_eq!(rounds[0], [Round { sends: Vec::new(), receives: vec![(1, 8), (2, 16), (4, 16)] }]);
    }
}
