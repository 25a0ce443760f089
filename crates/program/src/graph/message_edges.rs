//! The messages between nodes, as the history of the run matched them.
//!
//! The history knows for every message the call that sent it and the call that completed its receive. Here both are mapped to their nodes,
//! and the messages between two nodes are summed up.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::node_cursor::NodeIndex;
use crate::history::{CallId, History, Location, SentMessage};
use crate::process_group::ProcessGroup;

/// Messages from a node of one role to a node of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEdge {
    /// Sending role and node.
    pub from: (usize, usize),
    /// Receiving role, and the node that completes the receive.
    pub to: (usize, usize),
    /// Number of messages.
    pub messages: u64,
    /// Total bytes.
    pub bytes: u64,
}

/// Role and node at both ends of messages.
type EdgeEnds = [(u32, u32); 2];

/// Number of messages and their bytes, by their ends.
#[derive(Default)]
struct EdgeSums(BTreeMap<EdgeEnds, (u64, u64)>);

/// A message whose receiver is a rank of another process.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct ForeignMessage {
    receiver: CallId,
    /// Sending role and node.
    from: [u32; 2],
    padding: u32,
    bytes: u64,
}

/// Finds the node of every call of the ranks of this process.
struct CallNodes<'a> {
    history: &'a History,
    role_of: &'a HashMap<u32, usize>,
    /// For each location, the node of each call.
    nodes: Vec<Vec<u32>>,
}

/// No node: a call that is not in the graph.
const NO_NODE: u32 = u32::MAX;

/// The messages between nodes, over all processes; `role_of` is the role of each rank.
pub(super) fn message_edges(
    history: &History,
    node_index: &NodeIndex,
    role_of: &HashMap<u32, usize>,
    comm: &dyn ProcessGroup,
) -> Vec<MessageEdge> {
    let nodes = history.locations.par_iter().map(|location| location_nodes(location, node_index)).collect();
    let calls = CallNodes { history, role_of, nodes };
    let (own, foreign): (Vec<EdgeSums>, Vec<Vec<ForeignMessage>>) =
        (0..history.locations.len()).into_par_iter().map(|location| calls.sum_sent(location)).unzip();
    let mut sums = own.into_iter().fold(EdgeSums::default(), EdgeSums::merge);
    if comm.size() > 1 {
        let buffers = history.distribution.group_by_owner(foreign.into_iter().flatten(), |message| message.receiver.rank);
        for message in comm.all_to_all(buffers).into_iter().flatten() {
            calls.add(&mut sums, (message.from[0], message.from[1]), message.receiver, message.bytes);
        }
    }
    let of_processes = comm.all_gather(sums.0).into_iter().map(EdgeSums);
    let all = of_processes.fold(EdgeSums::default(), EdgeSums::merge);
    let end = |(role, node): (u32, u32)| (role as usize, node as usize);
    all.0.into_iter().map(|([from, to], (messages, bytes))| MessageEdge { from: end(from), to: end(to), messages, bytes }).collect()
}

/// The node of each call of a location.
fn location_nodes(location: &Location, node_index: &NodeIndex) -> Vec<u32> {
    let mut cursor = node_index.cursor(location.rank);
    location.calls.calls().map(|call| cursor.next_node(&call).map_or(NO_NODE, |node| node as u32)).collect()
}

impl CallNodes<'_> {
    /// Sums up the messages that a location sent, except those to ranks of other processes, which are listed.
    fn sum_sent(&self, location: usize) -> (EdgeSums, Vec<ForeignMessage>) {
        let (mut sums, mut foreign) = (EdgeSums::default(), Vec::new());
        let own = self.history.distribution.own_ranks();
        let sender = &self.history.locations[location];
        for SentMessage { row, receiver, bytes, .. } in sender.sent.iter().filter(|sent| sent.receiver != CallId::NONE) {
            let Some((role, node)) = self.end_at(location, sender.rank, *row) else { continue };
            match own.contains(&receiver.rank) {
                true => self.add(&mut sums, (role, node), *receiver, *bytes),
                false => foreign.push(ForeignMessage { receiver: *receiver, from: [role, node], padding: 0, bytes: *bytes }),
            }
        }
        (sums, foreign)
    }

    /// Adds a message to a rank of this process.
    fn add(&self, sums: &mut EdgeSums, from: (u32, u32), receiver: CallId, bytes: u64) {
        let to = self.history.location_index(receiver).and_then(|location| self.end_at(location, receiver.rank, receiver.row));
        if let Some(to) = to {
            sums.add([from, to], (1, bytes));
        }
    }

    /// Role and node of a call; `None` if it is not in the graph.
    fn end_at(&self, location: usize, rank: u32, row: u32) -> Option<(u32, u32)> {
        let node = *self.nodes[location].get(row as usize)?;
        (node != NO_NODE).then_some((*self.role_of.get(&rank)? as u32, node))
    }
}

impl EdgeSums {
    fn add(&mut self, ends: EdgeEnds, (messages, bytes): (u64, u64)) {
        let sum = self.0.entry(ends).or_default();
        *sum = (sum.0 + messages, sum.1.saturating_add(bytes));
    }

    fn merge(mut self, other: EdgeSums) -> EdgeSums {
        other.0.into_iter().for_each(|(ends, more)| self.add(ends, more));
        self
    }
}
