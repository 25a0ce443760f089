//! Which sends reach which receives, without putting all calls into one order.
//!
//! Sender and receiver have each summed up their messages by partner, communicator and tag. Within one such stream messages arrive in the
//! order in which they were sent, so the sums are laid beside each other in the order of their first messages. Where one node sends and
//! one receives, as almost always, that is exact; so it is where nodes take turns, or follow one another.

use std::collections::{BTreeMap, HashMap};

use super::walk::{RankWalk, Stream};

/// Messages from a node of one role to a node of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEdge {
    /// The role that sends, by number, and the node where.
    pub from: (usize, usize),
    /// The role that receives, by number, and the node where its receives are complete.
    pub to: (usize, usize),
    /// How many messages.
    pub messages: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

/// All messages of a program.
#[derive(Debug, Default)]
pub struct Messages {
    /// The messages between nodes.
    pub edges: Vec<MessageEdge>,
    /// Messages that were sent, but not received.
    pub not_received: u64,
    /// Messages that were received, but whose sending was not recorded.
    pub not_sent: u64,
}

/// Identifies a stream: sender, receiver, communicator and class of the tag.
type StreamId = (u32, u32, u32, i32);

/// Joins what was sent and what was received.
pub fn join(walks: &[RankWalk], role_of: &HashMap<u32, usize>) -> Messages {
    let mut streams: BTreeMap<StreamId, [Vec<Stream>; 2]> = BTreeMap::new();
    for walk in walks {
        for stream in &walk.sent {
            streams.entry((walk.rank, stream.peer, stream.communicator, stream.tag)).or_default()[0].push(*stream);
        }
        for stream in &walk.received {
            streams.entry((stream.peer, walk.rank, stream.communicator, stream.tag)).or_default()[1].push(*stream);
        }
    }
    let mut sums: BTreeMap<[(usize, usize); 2], (u64, u64)> = BTreeMap::new();
    let mut joined = Messages::default();
    for ((from, to, _, _), [mut sent, mut received]) in streams {
        sent.sort_by_key(|stream| (stream.first, stream.node));
        received.sort_by_key(|stream| (stream.first, stream.node));
        let (pairs, left) = side_by_side(&sent, &received);
        joined.not_received += left[0];
        joined.not_sent += left[1];
        let roles = role_of.get(&from).zip(role_of.get(&to));
        for pair in pairs {
            let Some((from, to)) = roles else { continue };
            let sum = sums.entry([(*from, pair.send), (*to, pair.receive)]).or_default();
            *sum = (sum.0 + pair.messages, sum.1.saturating_add(pair.bytes));
        }
    }
    joined.edges = sums.into_iter().map(|([from, to], (messages, bytes))| MessageEdge { from, to, messages, bytes }).collect();
    joined
}

/// Messages of a stream that were sent at one node and received at another.
struct Pair {
    send: usize,
    receive: usize,
    messages: u64,
    bytes: u64,
}

/// Lays the messages of a stream beside each other: those that belong together, and how many are left on each side.
fn side_by_side(sent: &[Stream], received: &[Stream]) -> (Vec<Pair>, [u64; 2]) {
    let mut pairs = Vec::new();
    let (mut receives, mut wanted) = (received.iter(), None::<(usize, u64)>);
    let mut left = 0;
    for stream in sent {
        let mut messages = stream.messages;
        while messages > 0 {
            let Some((node, open)) = wanted.or_else(|| receives.next().map(|r| (r.node, r.messages))) else { break };
            let taken = messages.min(open);
            let bytes = share(stream.bytes, taken, stream.messages);
            pairs.push(Pair { send: stream.node, receive: node, messages: taken, bytes });
            messages -= taken;
            wanted = (open > taken).then_some((node, open - taken));
        }
        left += messages;
    }
    let open = wanted.map_or(0, |(_, open)| open) + receives.map(|stream| stream.messages).sum::<u64>();
    (pairs, [left, open])
}

/// The bytes of some of a stream's messages.
fn share(bytes: u64, some: u64, all: u64) -> u64 {
    (u128::from(bytes) * u128::from(some) / u128::from(all.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(peer: u32, node: usize, first: u64, messages: u64) -> Stream {
        Stream { peer, communicator: 0, tag: 0, node, first, messages, bytes: 10 * messages }
    }

    fn walk(rank: u32, sent: Vec<Stream>, received: Vec<Stream>) -> RankWalk {
        RankWalk { rank, sent, received, ..RankWalk::default() }
    }

    fn edges(messages: &Messages) -> Vec<(usize, usize, u64, u64)> {
        messages.edges.iter().map(|edge| (edge.from.1, edge.to.1, edge.messages, edge.bytes)).collect()
    }

    #[test]
    fn nodes_that_take_turns_and_nodes_that_follow_one_another_find_each_other() {
        let role_of = HashMap::from([(0, 0), (1, 1)]);
        let turns = [
            walk(0, vec![stream(1, 5, 1, 100), stream(1, 4, 0, 100)], vec![]),
            walk(1, vec![], vec![stream(0, 8, 0, 100), stream(0, 9, 1, 100)]),
        ];
        assert_eq!(edges(&join(&turns, &role_of)), [(4, 8, 100, 1000), (5, 9, 100, 1000)]);
        let followed = [walk(0, vec![stream(1, 4, 0, 99), stream(1, 5, 99, 1)], vec![]), walk(1, vec![], vec![stream(0, 8, 0, 100)])];
        assert_eq!(edges(&join(&followed, &role_of)), [(4, 8, 99, 990), (5, 8, 1, 10)]);
    }

    #[test]
    fn messages_without_their_other_end_are_counted() {
        let role_of = HashMap::from([(0, 0), (1, 1)]);
        let walks =
            [walk(0, vec![stream(1, 4, 0, 5), stream(7, 4, 0, 1)], vec![stream(1, 6, 0, 3)]), walk(1, vec![], vec![stream(0, 8, 0, 2)])];
        let joined = join(&walks, &role_of);
        assert_eq!((edges(&joined), joined.not_received, joined.not_sent), (vec![(4, 8, 2, 20)], 4, 3));
    }

    #[test]
    fn ranks_of_one_role_are_summed() {
        let role_of = HashMap::from([(0, 0), (1, 1), (2, 1)]);
        let walks = [
            walk(0, vec![stream(1, 4, 0, 1), stream(2, 4, 1, 1)], vec![]),
            walk(1, vec![], vec![stream(0, 8, 0, 1)]),
            walk(2, vec![], vec![stream(0, 8, 0, 1)]),
        ];
        let expected = MessageEdge { from: (0, 4), to: (1, 8), messages: 2, bytes: 20 };
        assert_eq!(join(&walks, &role_of).edges, [expected]);
    }
}
