//! How many bytes a process contributes to a collective operation, and how many it gets.
//!
//! Only arguments that count at this process are read: a process that is not the root may pass anything as the root's arguments.

use sintonia_mpi::Pattern;
use sintonia_recording::raw;

use super::Call;
use crate::communicators::{Communicator, Side};

/// Bytes sent and received by this process.
pub fn bytes(call: &mut Call, pattern: Pattern, communicator: &Communicator) -> (u64, u64) {
    let s = &call.about.slots;
    let peers = communicator.peers.max(0) as usize;
    let count = peers as u64;
    match pattern {
        Pattern::Barrier => (0, 0),
        Pattern::Broadcast => match part(call, communicator) {
            Part::Root => (call.bytes(s.send_count, s.send_type), 0),
            Part::Other => (0, call.bytes(s.send_count, s.send_type)),
            Part::Idle => (0, 0),
        },
        Pattern::Reduce => match part(call, communicator) {
            Part::Root if communicator.between => (0, call.bytes(s.send_count, s.send_type)),
            Part::Root => {
                let bytes = call.bytes(s.send_count, s.send_type);
                (bytes, bytes)
            }
            Part::Other => (call.bytes(s.send_count, s.send_type), 0),
            Part::Idle => (0, 0),
        },
        Pattern::Allreduce | Pattern::Scan | Pattern::Exscan => {
            let bytes = call.bytes(s.send_count, s.send_type);
            (bytes, bytes)
        }
        Pattern::Gather | Pattern::Gatherv => {
            let part = part(call, communicator);
            let sends = takes_part(part, communicator) && !call.is_in_place(s.send_buffer);
            let sent = if sends { call.bytes(s.send_count, s.send_type) } else { 0 };
            let received = match (part, pattern) {
                (Part::Root, Pattern::Gather) => call.bytes(s.recv_count, s.recv_type) * count,
                (Part::Root, _) => call.sum(s.recv_count, peers) * call.datatype_size(s.recv_type),
                _ => 0,
            };
            (sent, received)
        }
        Pattern::Scatter | Pattern::Scatterv => {
            let part = part(call, communicator);
            let sent = match (part, pattern) {
                (Part::Root, Pattern::Scatter) => call.bytes(s.send_count, s.send_type) * count,
                (Part::Root, _) => call.sum(s.send_count, peers) * call.datatype_size(s.send_type),
                _ => 0,
            };
            let receives = takes_part(part, communicator) && !call.is_in_place(s.recv_buffer);
            (sent, if receives { call.bytes(s.recv_count, s.recv_type) } else { 0 })
        }
        Pattern::Allgather => {
            let one = call.bytes(s.recv_count, s.recv_type);
            (if call.is_in_place(s.send_buffer) { one } else { call.bytes(s.send_count, s.send_type) }, one * count)
        }
        Pattern::Allgatherv => {
            let size = call.datatype_size(s.recv_type);
            let own = call.count_at(s.recv_count, communicator.rank.max(0) as usize % peers.max(1)) * size;
            let sent = if call.is_in_place(s.send_buffer) { own } else { call.bytes(s.send_count, s.send_type) };
            (sent, call.sum(s.recv_count, peers) * size)
        }
        Pattern::Alltoall => {
            let received = call.bytes(s.recv_count, s.recv_type) * count;
            (if call.is_in_place(s.send_buffer) { received } else { call.bytes(s.send_count, s.send_type) * count }, received)
        }
        Pattern::Alltoallv => {
            let received = call.sum(s.recv_count, peers) * call.datatype_size(s.recv_type);
            let in_place = call.is_in_place(s.send_buffer);
            (if in_place { received } else { call.sum(s.send_count, peers) * call.datatype_size(s.send_type) }, received)
        }
        Pattern::Alltoallw => {
            let received = typed_sum(call, s.recv_count, s.recv_type, 0..peers);
            let in_place = call.is_in_place(s.send_buffer);
            (if in_place { received } else { typed_sum(call, s.send_count, s.send_type, 0..peers) }, received)
        }
        Pattern::ReduceScatter => {
            // Between two groups, too, the counts are those of the own group.
            let size = call.datatype_size(s.send_type);
            let (members, own) = (communicator.size.max(0) as usize, communicator.rank.max(0) as usize);
            (call.sum(s.recv_count, members) * size, call.count_at(s.recv_count, own) * size)
        }
        Pattern::ReduceScatterBlock => {
            let one = call.bytes(s.recv_count, s.send_type);
            (one * communicator.size.max(0) as u64, one)
        }
        _ => neighbor_bytes(call, pattern, communicator),
    }
}

/// Nothing goes to where a grid ends nor comes from there, though the arguments have a place for it.
fn neighbor_bytes(call: &mut Call, pattern: Pattern, communicator: &Communicator) -> (u64, u64) {
    let s = &call.about.slots;
    let (sources, destinations) = (communicator.sources, communicator.destinations);
    let sum = |call: &Call, counts: u8, side: Side| side.there().map(|place| call.count_at(counts, place)).sum::<u64>();
    match pattern {
        Pattern::NeighborAllgather | Pattern::NeighborAlltoall => {
            let (one_out, one_in) = (call.bytes(s.send_count, s.send_type), call.bytes(s.recv_count, s.recv_type));
            (one_out * destinations.there().count() as u64, one_in * sources.there().count() as u64)
        }
        Pattern::NeighborAllgatherv => {
            let sent = call.bytes(s.send_count, s.send_type) * destinations.there().count() as u64;
            (sent, sum(call, s.recv_count, sources) * call.datatype_size(s.recv_type))
        }
        Pattern::NeighborAlltoallv => {
            let sent = sum(call, s.send_count, destinations) * call.datatype_size(s.send_type);
            (sent, sum(call, s.recv_count, sources) * call.datatype_size(s.recv_type))
        }
        _ => {
            (typed_sum(call, s.send_count, s.send_type, destinations.there()), typed_sum(call, s.recv_count, s.recv_type, sources.there()))
        }
    }
}

fn typed_sum(call: &mut Call, counts: u8, datatypes: u8, places: impl Iterator<Item = usize>) -> u64 {
    places
        .map(|place| match call.count_at(counts, place) {
            0 => 0,
            count => count * call.datatype_size_at(datatypes, place),
        })
        .sum()
}

/// The part of this process in an operation with a root.
#[derive(Clone, Copy)]
enum Part {
    Root,
    Other,
    /// In the root's group of an intercommunicator, but not the root.
    Idle,
}

/// Whether a process has data of its own in a gather or scatter: between two groups neither the root nor the rest of its group has.
fn takes_part(part: Part, communicator: &Communicator) -> bool {
    match part {
        Part::Root => !communicator.between,
        Part::Other => true,
        Part::Idle => false,
    }
}

fn part(call: &Call, communicator: &Communicator) -> Part {
    match call.peer(call.about.slots.root) {
        raw::ROOT_HERE => Part::Root,
        raw::PROC_NULL => Part::Idle,
        root if !communicator.between && root == communicator.rank => Part::Root,
        _ => Part::Other,
    }
}
