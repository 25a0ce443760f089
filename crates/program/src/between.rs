//! The messages of collective operations between two groups.
//!
//! Data crosses once, between the root and the first member of the other group or between the two first members, and travels inside each
//! group as [`crate::collective`] says; where every pair exchanges data of its own, it goes straight.

use sintonia_mpi::Pattern;
use sintonia_recording::raw;

use crate::Flow;
use crate::collective::{Party, broadcast, gather, reduce, scatter};

/// The messages of a collective between the party's group and another; `root` is as the call named it. The party's root is its first
/// member.
pub(crate) fn messages(pattern: Pattern, party: &Party, others: &[i32], root: i32) -> Vec<Flow> {
    let Some(first) = others.first().copied() else { return Vec::new() };
    match pattern {
        Pattern::Broadcast | Pattern::Scatter if root == raw::ROOT_HERE => vec![across(party, first, party.sent)],
        Pattern::Broadcast if root >= 0 => broadcast(party, party.message()),
        Pattern::Scatter if root >= 0 => scatter(party, party.received),
        Pattern::Scatterv if root >= 0 => vec![backwards(across(party, root, party.received))],
        Pattern::Gatherv if root >= 0 => vec![across(party, root, party.sent)],
        Pattern::Reduce if root >= 0 => up_and_across(party, reduce(party, party.message()), root, party.sent),
        Pattern::Gather if root >= 0 => up_and_across(party, gather(party), root, whole(party)),
        Pattern::Alltoall | Pattern::Alltoallv | Pattern::Alltoallw => {
            let part = party.sent / others.len() as u64;
            others.iter().map(|to| across(party, *to, part)).collect()
        }
        Pattern::Barrier => exchange(party, first, reduce(party, 0), 0, broadcast(party, 0)),
        Pattern::Allreduce => exchange(party, first, reduce(party, party.message()), party.sent, broadcast(party, party.message())),
        Pattern::Allgather | Pattern::Allgatherv => exchange(party, first, gather(party), whole(party), broadcast(party, party.received)),
        Pattern::ReduceScatter | Pattern::ReduceScatterBlock => {
            exchange(party, first, reduce(party, party.sent), party.sent, scatter(party, party.received))
        }
        _ => Vec::new(),
    }
}

/// One message per call to a member of the other group.
fn across(party: &Party, to: i32, bytes: u64) -> Flow {
    Flow { from: party.members[party.here], to, messages: party.calls, bytes }
}

fn backwards(flow: Flow) -> Flow {
    Flow { from: flow.to, to: flow.from, ..flow }
}

/// The blocks of the party's whole group.
fn whole(party: &Party) -> u64 {
    party.sent.saturating_mul(party.members.len() as u64)
}

/// What goes up to the first member, which sends the result across.
fn up_and_across(party: &Party, up: Vec<Flow>, to: i32, bytes: u64) -> Vec<Flow> {
    let leads = party.here == party.root;
    up.into_iter().chain(leads.then(|| across(party, to, bytes))).collect()
}

/// Up to the first member, across between the first members, and down again.
fn exchange(party: &Party, first: i32, up: Vec<Flow>, bytes: u64, down: Vec<Flow>) -> Vec<Flow> {
    up_and_across(party, up, first, bytes).into_iter().chain(down).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: [i32; 3] = [0, 2, 4];
    const THERE: [i32; 2] = [1, 3];

    fn count(pattern: Pattern, members: &[i32], here: usize, others: &[i32], root: i32) -> Vec<(i32, i32, u64)> {
        let party = Party { members, here, root: 0, calls: 1, sent: 12, received: 6 };
        messages(pattern, &party, others, root).into_iter().map(|f| (f.from, f.to, f.bytes)).collect()
    }

    #[test]
    fn a_broadcast_crosses_to_the_first_member_and_goes_down_from_there() {
        assert_eq!(count(Pattern::Broadcast, &HERE, 1, &THERE, raw::ROOT_HERE), [(2, 1, 12)]);
        assert_eq!(count(Pattern::Broadcast, &HERE, 0, &THERE, raw::PROC_NULL), []);
        assert_eq!(count(Pattern::Broadcast, &THERE, 0, &HERE, 2), [(1, 3, 12)]);
        assert_eq!(count(Pattern::Broadcast, &THERE, 1, &HERE, 2), []);
    }

    #[test]
    fn a_reduce_goes_up_and_crosses_to_the_root() {
        assert_eq!(count(Pattern::Reduce, &THERE, 1, &HERE, 2), [(3, 1, 12)]);
        assert_eq!(count(Pattern::Reduce, &THERE, 0, &HERE, 2), [(1, 2, 12)]);
        assert_eq!(count(Pattern::Gather, &THERE, 0, &HERE, 2), [(1, 2, 24)]);
        assert_eq!(count(Pattern::Gather, &HERE, 1, &THERE, raw::ROOT_HERE), []);
    }

    #[test]
    fn an_allreduce_exchanges_between_the_first_members() {
        assert_eq!(count(Pattern::Allreduce, &THERE, 0, &HERE, raw::NONE), [(1, 0, 12), (1, 3, 12)]);
        assert_eq!(count(Pattern::Allreduce, &THERE, 1, &HERE, raw::NONE), [(3, 1, 12)]);
    }

    #[test]
    fn an_alltoall_goes_straight() {
        assert_eq!(count(Pattern::Alltoall, &HERE, 2, &THERE, raw::NONE), [(4, 1, 6), (4, 3, 6)]);
    }
}
