//! Matches sends and receives without a global order of calls.
//!
//! Sender and receiver have summed up their messages by peer, communicator and tag. Within such a stream messages do not overtake, so the
//! sums of both sides are aligned by their first messages. With one sending and one receiving node, which is the common case, this is
//! exact; also if nodes alternate or follow one another.

use std::collections::{BTreeMap, HashMap};

use super::rank_path::{MessageStream, RankPath};

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

/// All matched messages of a program.
#[derive(Debug, Default)]
pub(super) struct StreamMatches {
    /// The messages between nodes.
    pub edges: Vec<MessageEdge>,
    /// Messages sent but not received.
    pub unmatched_sends: u64,
    /// Messages received whose send was not recorded.
    pub unmatched_receives: u64,
}

/// Key of a stream: sender, receiver, communicator and tag class.
type StreamKey = (u32, u32, u32, i32);

/// Matches the streams of all ranks.
pub(super) fn match_streams(paths: &[RankPath], role_of: &HashMap<u32, usize>) -> StreamMatches {
    let mut streams: BTreeMap<StreamKey, [Vec<MessageStream>; 2]> = BTreeMap::new();
    for walk in paths {
        for stream in &walk.sent {
            streams.entry((walk.rank, stream.peer, stream.communicator, stream.tag)).or_default()[0].push(*stream);
        }
        for stream in &walk.received {
            streams.entry((stream.peer, walk.rank, stream.communicator, stream.tag)).or_default()[1].push(*stream);
        }
    }
    let mut sums: BTreeMap<[(usize, usize); 2], (u64, u64)> = BTreeMap::new();
    let mut joined = StreamMatches::default();
    for ((from, to, _, _), [mut sent, mut received]) in streams {
        sent.sort_by_key(|stream| (stream.first, stream.node));
        received.sort_by_key(|stream| (stream.first, stream.node));
        let (pairs, left) = align_streams(&sent, &received);
        joined.unmatched_sends += left[0];
        joined.unmatched_receives += left[1];
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

/// Messages of a stream sent at one node and received at another.
struct StreamMatch {
    send: usize,
    receive: usize,
    messages: u64,
    bytes: u64,
}

/// Aligns both sides of a stream; returns the matches and the number of unmatched messages on each side.
fn align_streams(sent: &[MessageStream], received: &[MessageStream]) -> (Vec<StreamMatch>, [u64; 2]) {
    let mut pairs = Vec::new();
    let (mut receives, mut wanted) = (received.iter(), None::<(usize, u64)>);
    let mut left = 0;
    for stream in sent {
        let mut messages = stream.messages;
        while messages > 0 {
            let Some((node, open)) = wanted.or_else(|| receives.next().map(|r| (r.node, r.messages))) else { break };
            let taken = messages.min(open);
            let bytes = proportional_share(stream.bytes, taken, stream.messages);
            pairs.push(StreamMatch { send: stream.node, receive: node, messages: taken, bytes });
            messages -= taken;
            wanted = (open > taken).then_some((node, open - taken));
        }
        left += messages;
    }
    let open = wanted.map_or(0, |(_, open)| open) + receives.map(|stream| stream.messages).sum::<u64>();
    (pairs, [left, open])
}

/// The bytes of some of a stream's messages, in proportion.
fn proportional_share(bytes: u64, some: u64, all: u64) -> u64 {
    (u128::from(bytes) * u128::from(some) / u128::from(all.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(peer: u32, node: usize, first: u64, messages: u64) -> MessageStream {
        MessageStream { peer, communicator: 0, tag: 0, node, first, messages, bytes: 10 * messages }
    }

    fn walk(rank: u32, sent: Vec<MessageStream>, received: Vec<MessageStream>) -> RankPath {
        RankPath { rank, sent, received, ..RankPath::default() }
    }

    fn edges(messages: &StreamMatches) -> Vec<(usize, usize, u64, u64)> {
        messages.edges.iter().map(|edge| (edge.from.1, edge.to.1, edge.messages, edge.bytes)).collect()
    }

    #[test]
    fn nodes_that_take_turns_and_nodes_that_follow_one_another_find_each_other() {
        let role_of = HashMap::from([(0, 0), (1, 1)]);
        let turns = [
            walk(0, vec![stream(1, 5, 1, 100), stream(1, 4, 0, 100)], vec![]),
            walk(1, vec![], vec![stream(0, 8, 0, 100), stream(0, 9, 1, 100)]),
        ];
        assert_eq!(edges(&match_streams(&turns, &role_of)), [(4, 8, 100, 1000), (5, 9, 100, 1000)]);
        let followed = [walk(0, vec![stream(1, 4, 0, 99), stream(1, 5, 99, 1)], vec![]), walk(1, vec![], vec![stream(0, 8, 0, 100)])];
        assert_eq!(edges(&match_streams(&followed, &role_of)), [(4, 8, 99, 990), (5, 8, 1, 10)]);
    }

    #[test]
    fn messages_without_their_other_end_are_counted() {
        let role_of = HashMap::from([(0, 0), (1, 1)]);
        let paths =
            [walk(0, vec![stream(1, 4, 0, 5), stream(7, 4, 0, 1)], vec![stream(1, 6, 0, 3)]), walk(1, vec![], vec![stream(0, 8, 0, 2)])];
        let joined = match_streams(&paths, &role_of);
        assert_eq!((edges(&joined), joined.unmatched_sends, joined.unmatched_receives), (vec![(4, 8, 2, 20)], 4, 3));
    }

    #[test]
    fn ranks_of_one_role_are_summed() {
        let role_of = HashMap::from([(0, 0), (1, 1), (2, 1)]);
        let paths = [
            walk(0, vec![stream(1, 4, 0, 1), stream(2, 4, 1, 1)], vec![]),
            walk(1, vec![], vec![stream(0, 8, 0, 1)]),
            walk(2, vec![], vec![stream(0, 8, 0, 1)]),
        ];
        let expected = MessageEdge { from: (0, 4), to: (1, 8), messages: 2, bytes: 20 };
        assert_eq!(match_streams(&paths, &role_of).edges, [expected]);
    }
}
