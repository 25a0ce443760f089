//! Messages of collectives on intercommunicators.
//!
//! Data crosses once, between the root and the first member of the remote group or between the two first members, and is distributed inside
//! each group as in [`crate::collective`]. Where every pair exchanges its own data, it is sent directly.

use sintonia_mpi::CollectiveOp;
use sintonia_recording::raw;

use crate::MessageFlow;
use crate::collective::MemberCalls;

/// The messages of an intercommunicator collective; `root` is the value the call passed. The local root is the first member.
pub(crate) fn message_flows(op: CollectiveOp, calls: &MemberCalls, others: &[i32], root: i32) -> Vec<MessageFlow> {
    use CollectiveOp::*;
    let Some(first) = others.first().copied() else { return Vec::new() };
    let (vector, local) = (calls.sent.max(calls.received), |op, bytes| calls.flows_of(op, bytes));
    match op {
        Broadcast | Scatter if root == raw::ROOT => vec![send_across(calls, first, calls.sent)],
        Broadcast if root >= 0 => local(Broadcast, vector),
        Scatter if root >= 0 => local(Scatter, calls.received),
        Scatterv if root >= 0 => vec![reversed(send_across(calls, root, calls.received))],
        Gatherv if root >= 0 => vec![send_across(calls, root, calls.sent)],
        Reduce if root >= 0 => gather_and_send(calls, local(Reduce, vector), root, calls.sent),
        Gather if root >= 0 => gather_and_send(calls, local(Gather, calls.sent), root, group_bytes(calls)),
        Alltoall | Alltoallv | Alltoallw => {
            let part = calls.sent / others.len() as u64;
            others.iter().map(|to| send_across(calls, *to, part)).collect()
        }
        Barrier => exchange_leaders(calls, first, local(Reduce, 0), 0, local(Broadcast, 0)),
        Allreduce => exchange_leaders(calls, first, local(Reduce, vector), calls.sent, local(Broadcast, vector)),
        // Blocks may differ, so the local parts are those whose messages do not depend on the blocks of others.
        Allgatherv => exchange_leaders(calls, first, local(Gatherv, calls.sent), group_bytes(calls), local(Broadcast, calls.received)),
        Allgather => exchange_leaders(calls, first, local(Gather, calls.sent), group_bytes(calls), local(Broadcast, calls.received)),
        ReduceScatter => exchange_leaders(calls, first, local(Reduce, calls.sent), calls.sent, local(Scatterv, calls.received)),
        ReduceScatterBlock => exchange_leaders(calls, first, local(Reduce, calls.sent), calls.sent, local(Scatter, calls.received)),
        _ => Vec::new(),
    }
}

/// One message per call to a member of the remote group.
fn send_across(calls: &MemberCalls, to: i32, bytes: u64) -> MessageFlow {
    MessageFlow { from: calls.members[calls.own_index as usize], to, messages: calls.calls, bytes: bytes.saturating_mul(calls.calls) }
}

fn reversed(flow: MessageFlow) -> MessageFlow {
    MessageFlow { from: flow.to, to: flow.from, ..flow }
}

/// The blocks of the whole local group.
fn group_bytes(calls: &MemberCalls) -> u64 {
    calls.sent.saturating_mul(calls.members.len() as u64)
}

/// Up to the first member, which sends the result across.
fn gather_and_send(calls: &MemberCalls, up: Vec<MessageFlow>, to: i32, bytes: u64) -> Vec<MessageFlow> {
    let leads = calls.own_index == calls.root_index;
    up.into_iter().chain(leads.then(|| send_across(calls, to, bytes))).collect()
}

/// Up to the first member, across between the first members, and down again.
fn exchange_leaders(calls: &MemberCalls, first: i32, up: Vec<MessageFlow>, bytes: u64, down: Vec<MessageFlow>) -> Vec<MessageFlow> {
    gather_and_send(calls, up, first, bytes).into_iter().chain(down).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: [i32; 3] = [0, 2, 4];
    const THERE: [i32; 2] = [1, 3];

    fn count(op: CollectiveOp, members: &[i32], own_index: u32, others: &[i32], root: i32) -> Vec<(i32, i32, u64)> {
        let calls = MemberCalls { library: None, members, own_index, root_index: 0, calls: 1, sent: 12, received: 6 };
        message_flows(op, &calls, others, root).into_iter().map(|f| (f.from, f.to, f.bytes)).collect()
    }

    #[test]
    fn a_broadcast_crosses_to_the_first_member_and_goes_down_from_there() {
        assert_eq!(count(CollectiveOp::Broadcast, &HERE, 1, &THERE, raw::ROOT), [(2, 1, 12)]);
        assert_eq!(count(CollectiveOp::Broadcast, &HERE, 0, &THERE, raw::PROC_NULL), []);
        assert_eq!(count(CollectiveOp::Broadcast, &THERE, 0, &HERE, 2), [(1, 3, 12)]);
        assert_eq!(count(CollectiveOp::Broadcast, &THERE, 1, &HERE, 2), []);
    }

    #[test]
    fn a_reduce_goes_up_and_crosses_to_the_root() {
        assert_eq!(count(CollectiveOp::Reduce, &THERE, 1, &HERE, 2), [(3, 1, 12)]);
        assert_eq!(count(CollectiveOp::Reduce, &THERE, 0, &HERE, 2), [(1, 2, 12)]);
        assert_eq!(count(CollectiveOp::Gather, &THERE, 0, &HERE, 2), [(1, 2, 24)]);
        assert_eq!(count(CollectiveOp::Gather, &HERE, 1, &THERE, raw::ROOT), []);
    }

    #[test]
    fn an_allreduce_exchanges_between_the_first_members() {
        assert_eq!(count(CollectiveOp::Allreduce, &THERE, 0, &HERE, raw::NONE), [(1, 0, 12), (1, 3, 12)]);
        assert_eq!(count(CollectiveOp::Allreduce, &THERE, 1, &HERE, raw::NONE), [(3, 1, 12)]);
    }

    #[test]
    fn an_alltoall_goes_straight() {
        assert_eq!(count(CollectiveOp::Alltoall, &HERE, 2, &THERE, raw::NONE), [(4, 1, 6), (4, 3, 6)]);
    }
}
