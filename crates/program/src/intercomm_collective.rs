//! Messages of collectives on intercommunicators.
//!
//! Data crosses once, between the root and the first member of the remote group or between the two first members, and is distributed inside
//! each group as in [`crate::collective`]. Where every pair exchanges its own data, it is sent directly.

use sintonia_mpi::CollectiveOp;
use sintonia_recording::raw;

use crate::MessageFlow;
use crate::collective::{MemberTraffic, broadcast, gather, reduce, scatter};

/// The messages of an intercommunicator collective; `root` is the value the call passed. The local root is the first member.
pub(crate) fn message_flows(op: CollectiveOp, traffic: &MemberTraffic, others: &[i32], root: i32) -> Vec<MessageFlow> {
    let Some(first) = others.first().copied() else { return Vec::new() };
    match op {
        CollectiveOp::Broadcast | CollectiveOp::Scatter if root == raw::ROOT => vec![send_across(traffic, first, traffic.sent)],
        CollectiveOp::Broadcast if root >= 0 => broadcast(traffic, traffic.message_bytes()),
        CollectiveOp::Scatter if root >= 0 => scatter(traffic, traffic.received),
        CollectiveOp::Scatterv if root >= 0 => vec![reversed(send_across(traffic, root, traffic.received))],
        CollectiveOp::Gatherv if root >= 0 => vec![send_across(traffic, root, traffic.sent)],
        CollectiveOp::Reduce if root >= 0 => gather_and_send(traffic, reduce(traffic, traffic.message_bytes()), root, traffic.sent),
        CollectiveOp::Gather if root >= 0 => gather_and_send(traffic, gather(traffic), root, group_bytes(traffic)),
        CollectiveOp::Alltoall | CollectiveOp::Alltoallv | CollectiveOp::Alltoallw => {
            let part = traffic.sent / others.len() as u64;
            others.iter().map(|to| send_across(traffic, *to, part)).collect()
        }
        CollectiveOp::Barrier => exchange_leaders(traffic, first, reduce(traffic, 0), 0, broadcast(traffic, 0)),
        CollectiveOp::Allreduce => exchange_leaders(
            traffic,
            first,
            reduce(traffic, traffic.message_bytes()),
            traffic.sent,
            broadcast(traffic, traffic.message_bytes()),
        ),
        CollectiveOp::Allgather | CollectiveOp::Allgatherv => {
            exchange_leaders(traffic, first, gather(traffic), group_bytes(traffic), broadcast(traffic, traffic.received))
        }
        CollectiveOp::ReduceScatter | CollectiveOp::ReduceScatterBlock => {
            exchange_leaders(traffic, first, reduce(traffic, traffic.sent), traffic.sent, scatter(traffic, traffic.received))
        }
        _ => Vec::new(),
    }
}

/// One message per call to a member of the remote group.
fn send_across(traffic: &MemberTraffic, to: i32, bytes: u64) -> MessageFlow {
    MessageFlow { from: traffic.members[traffic.own_index], to, messages: traffic.calls, bytes }
}

fn reversed(flow: MessageFlow) -> MessageFlow {
    MessageFlow { from: flow.to, to: flow.from, ..flow }
}

/// The blocks of the whole local group.
fn group_bytes(traffic: &MemberTraffic) -> u64 {
    traffic.sent.saturating_mul(traffic.members.len() as u64)
}

/// Up to the first member, which sends the result across.
fn gather_and_send(traffic: &MemberTraffic, up: Vec<MessageFlow>, to: i32, bytes: u64) -> Vec<MessageFlow> {
    let leads = traffic.own_index == traffic.root_index;
    up.into_iter().chain(leads.then(|| send_across(traffic, to, bytes))).collect()
}

/// Up to the first member, across between the first members, and down again.
fn exchange_leaders(traffic: &MemberTraffic, first: i32, up: Vec<MessageFlow>, bytes: u64, down: Vec<MessageFlow>) -> Vec<MessageFlow> {
    gather_and_send(traffic, up, first, bytes).into_iter().chain(down).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: [i32; 3] = [0, 2, 4];
    const THERE: [i32; 2] = [1, 3];

    fn count(op: CollectiveOp, members: &[i32], own_index: usize, others: &[i32], root: i32) -> Vec<(i32, i32, u64)> {
        let traffic = MemberTraffic { members, own_index, root_index: 0, calls: 1, sent: 12, received: 6 };
        message_flows(op, &traffic, others, root).into_iter().map(|f| (f.from, f.to, f.bytes)).collect()
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
