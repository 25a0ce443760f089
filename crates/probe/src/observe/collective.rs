//! Bytes that a process sends and receives in a collective.
//!
//! Only arguments significant at this process are read: a process other than the root may pass anything for the root's arguments.

use sintonia_mpi::CollectiveOp;
use sintonia_recording::raw;

use super::CallObserver;
use crate::communicators::{KnownCommunicator, NeighborSlots};

/// Bytes sent and received by this process.
pub(super) fn bytes(call: &mut CallObserver, op: CollectiveOp, communicator: &KnownCommunicator) -> (u64, u64) {
    let s = &call.function.slots;
    let peers = communicator.peers.max(0) as usize;
    let count = peers as u64;
    match op {
        CollectiveOp::Barrier => (0, 0),
        CollectiveOp::Broadcast => match rooted_part(call, communicator) {
            RootedPart::Root => (call.bytes(s.send_count, s.send_type), 0),
            RootedPart::Other => (0, call.bytes(s.send_count, s.send_type)),
            RootedPart::Idle => (0, 0),
        },
        CollectiveOp::Reduce => match rooted_part(call, communicator) {
            RootedPart::Root if communicator.is_inter => (0, call.bytes(s.send_count, s.send_type)),
            RootedPart::Root => {
                let bytes = call.bytes(s.send_count, s.send_type);
                (bytes, bytes)
            }
            RootedPart::Other => (call.bytes(s.send_count, s.send_type), 0),
            RootedPart::Idle => (0, 0),
        },
        CollectiveOp::Allreduce | CollectiveOp::Scan | CollectiveOp::Exscan => {
            let bytes = call.bytes(s.send_count, s.send_type);
            (bytes, bytes)
        }
        CollectiveOp::Gather | CollectiveOp::Gatherv => {
            let part = rooted_part(call, communicator);
            let sends = has_own_data(part, communicator) && !call.is_in_place(s.send_buffer);
            let sent = if sends { call.bytes(s.send_count, s.send_type) } else { 0 };
            let received = match (part, op) {
                (RootedPart::Root, CollectiveOp::Gather) => call.bytes(s.recv_count, s.recv_type) * count,
                (RootedPart::Root, _) => call.count_sum(s.recv_count, peers) * call.datatype_size(s.recv_type),
                _ => 0,
            };
            (sent, received)
        }
        CollectiveOp::Scatter | CollectiveOp::Scatterv => {
            let part = rooted_part(call, communicator);
            let sent = match (part, op) {
                (RootedPart::Root, CollectiveOp::Scatter) => call.bytes(s.send_count, s.send_type) * count,
                (RootedPart::Root, _) => call.count_sum(s.send_count, peers) * call.datatype_size(s.send_type),
                _ => 0,
            };
            let receives = has_own_data(part, communicator) && !call.is_in_place(s.recv_buffer);
            (sent, if receives { call.bytes(s.recv_count, s.recv_type) } else { 0 })
        }
        CollectiveOp::Allgather => {
            let one = call.bytes(s.recv_count, s.recv_type);
            (if call.is_in_place(s.send_buffer) { one } else { call.bytes(s.send_count, s.send_type) }, one * count)
        }
        CollectiveOp::Allgatherv => {
            let size = call.datatype_size(s.recv_type);
            let own = call.count_at(s.recv_count, communicator.rank.max(0) as usize % peers.max(1)) * size;
            let sent = if call.is_in_place(s.send_buffer) { own } else { call.bytes(s.send_count, s.send_type) };
            (sent, call.count_sum(s.recv_count, peers) * size)
        }
        CollectiveOp::Alltoall => {
            let received = call.bytes(s.recv_count, s.recv_type) * count;
            (if call.is_in_place(s.send_buffer) { received } else { call.bytes(s.send_count, s.send_type) * count }, received)
        }
        CollectiveOp::Alltoallv => {
            let received = call.count_sum(s.recv_count, peers) * call.datatype_size(s.recv_type);
            let in_place = call.is_in_place(s.send_buffer);
            (if in_place { received } else { call.count_sum(s.send_count, peers) * call.datatype_size(s.send_type) }, received)
        }
        CollectiveOp::Alltoallw => {
            let received = typed_sum(call, s.recv_count, s.recv_type, 0..peers);
            let in_place = call.is_in_place(s.send_buffer);
            (if in_place { received } else { typed_sum(call, s.send_count, s.send_type, 0..peers) }, received)
        }
        CollectiveOp::ReduceScatter => {
            // On an intercommunicator, too, the counts are those of the local group.
            let size = call.datatype_size(s.send_type);
            let (members, own) = (communicator.size.max(0) as usize, communicator.rank.max(0) as usize);
            (call.count_sum(s.recv_count, members) * size, call.count_at(s.recv_count, own) * size)
        }
        CollectiveOp::ReduceScatterBlock => {
            let one = call.bytes(s.recv_count, s.send_type);
            (one * communicator.size.max(0) as u64, one)
        }
        _ => neighbor_bytes(call, op, communicator),
    }
}

/// Slots at an edge of a grid transfer nothing, although the arguments have an element for them.
fn neighbor_bytes(call: &mut CallObserver, op: CollectiveOp, communicator: &KnownCommunicator) -> (u64, u64) {
    let s = &call.function.slots;
    let (sources, destinations) = (communicator.sources, communicator.destinations);
    let sum = |call: &CallObserver, counts: u8, side: NeighborSlots| side.occupied().map(|index| call.count_at(counts, index)).sum::<u64>();
    match op {
        CollectiveOp::NeighborAllgather | CollectiveOp::NeighborAlltoall => {
            let (one_out, one_in) = (call.bytes(s.send_count, s.send_type), call.bytes(s.recv_count, s.recv_type));
            (one_out * destinations.occupied().count() as u64, one_in * sources.occupied().count() as u64)
        }
        CollectiveOp::NeighborAllgatherv => {
            let sent = call.bytes(s.send_count, s.send_type) * destinations.occupied().count() as u64;
            (sent, sum(call, s.recv_count, sources) * call.datatype_size(s.recv_type))
        }
        CollectiveOp::NeighborAlltoallv => {
            let sent = sum(call, s.send_count, destinations) * call.datatype_size(s.send_type);
            (sent, sum(call, s.recv_count, sources) * call.datatype_size(s.recv_type))
        }
        _ => (
            typed_sum(call, s.send_count, s.send_type, destinations.occupied()),
            typed_sum(call, s.recv_count, s.recv_type, sources.occupied()),
        ),
    }
}

fn typed_sum(call: &mut CallObserver, counts: u8, datatypes: u8, indices: impl Iterator<Item = usize>) -> u64 {
    indices
        .map(|index| match call.count_at(counts, index) {
            0 => 0,
            count => count * call.datatype_size_at(datatypes, index),
        })
        .sum()
}

/// The part of this process in a rooted collective.
#[derive(Clone, Copy)]
enum RootedPart {
    Root,
    Other,
    /// In the root's group of an intercommunicator, but not the root.
    Idle,
}

/// Whether a process has data of its own in a gather or scatter: on an intercommunicator, the root's group has none.
fn has_own_data(part: RootedPart, communicator: &KnownCommunicator) -> bool {
    match part {
        RootedPart::Root => !communicator.is_inter,
        RootedPart::Other => true,
        RootedPart::Idle => false,
    }
}

fn rooted_part(call: &CallObserver, communicator: &KnownCommunicator) -> RootedPart {
    match call.peer(call.function.slots.root) {
        raw::ROOT => RootedPart::Root,
        raw::PROC_NULL => RootedPart::Idle,
        root if !communicator.is_inter && root == communicator.rank => RootedPart::Root,
        _ => RootedPart::Other,
    }
}
