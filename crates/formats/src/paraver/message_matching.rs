//! Matches sends and receives.
//!
//! MPI messages between two ranks with the same communicator and tag do not overtake each other. So both ends are sorted by communicator,
//! ranks, tag and call number, and the n-th send matches the n-th receive, without holding either in memory.

use std::path::Path;

use sintonia_recording::comm_event::PointToPointMessage;
use sintonia_recording::raw;

use super::external_sort::{RunCollector, RunMerge, SortRuns};
use crate::Error;

/// Encoded size of a [`MatchKey`].
const KEY_BYTES: usize = 24;
/// Communicator, source, destination, tag, and the number of the call that sent it or posted the receive.
type MatchKey = [u8; KEY_BYTES];
/// The prefix of a [`MatchKey`] that is equal at both ends.
const CHANNEL_BYTES: usize = 16;
/// Encoded size of a [`MessageEndpoint`].
const END_BYTES: usize = 26;

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageEndpoint {
    pub thread: u16,
    /// When the program called for it.
    pub logical_time: u64,
    /// When it was sent or received.
    pub physical_time: u64,
    /// Size; [`raw::UNKNOWN_BYTES`] if this end does not have it.
    pub bytes: u64,
}

/// A message with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatchedMessage {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    pub tag: i32,
    pub send: MessageEndpoint,
    pub receive: MessageEndpoint,
}

impl MatchedMessage {
    /// Size of the message: what arrived.
    pub(super) fn bytes(&self) -> u64 {
        [self.receive.bytes, self.send.bytes].into_iter().find(|bytes| *bytes != raw::UNKNOWN_BYTES).unwrap_or(0)
    }
}

/// Matches the messages of a recording.
pub(super) struct MessageMatcher {
    sends: SortRuns<KEY_BYTES>,
    receives: SortRuns<KEY_BYTES>,
}

/// Collects the message ends of one rank.
pub(super) struct RankMessages<'a> {
    rank: u32,
    sends: RunCollector<'a, KEY_BYTES>,
    receives: RunCollector<'a, KEY_BYTES>,
}

/// Numbers of unmatched ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnmatchedCounts {
    /// Sends without receive.
    pub sends: u64,
    /// Receives without send.
    pub receives: u64,
}

impl MessageMatcher {
    /// Starts empty, with temporary files in this folder.
    pub(super) fn new(folder: &Path) -> Result<MessageMatcher, Error> {
        Ok(MessageMatcher { sends: SortRuns::new(folder)?, receives: SortRuns::new(folder)? })
    }

    pub(super) fn for_rank(&self, rank: u32) -> RankMessages<'_> {
        RankMessages { rank, sends: self.sends.collector(), receives: self.receives.collector() }
    }

    /// Calls `use_message` for every matched message, and counts the unmatched ends.
    pub(super) fn for_each_match(
        &self,
        mut use_message: impl FnMut(&MatchedMessage) -> Result<(), Error>,
    ) -> Result<UnmatchedCounts, Error> {
        let (mut sends, mut receives) = (self.sends.merge()?, self.receives.merge()?);
        let (mut send, mut receive) = (next_end(&mut sends)?, next_end(&mut receives)?);
        let mut unmatched = UnmatchedCounts::default();
        loop {
            match (send, receive) {
                (Some((one, from)), Some((other, to))) if one[..CHANNEL_BYTES] == other[..CHANNEL_BYTES] => {
                    use_message(&decode_match(&one, from, to))?;
                    (send, receive) = (next_end(&mut sends)?, next_end(&mut receives)?);
                }
                (Some((one, _)), other) if other.is_none_or(|(other, _)| one[..CHANNEL_BYTES] < other[..CHANNEL_BYTES]) => {
                    unmatched.sends += 1;
                    send = next_end(&mut sends)?;
                }
                (_, Some(_)) => {
                    unmatched.receives += 1;
                    receive = next_end(&mut receives)?;
                }
                (_, None) => return Ok(unmatched),
            }
        }
    }
}

impl RankMessages<'_> {
    /// Adds a send, made by the call with this number.
    pub(super) fn add_send(&mut self, message: &PointToPointMessage, call: u64, end: MessageEndpoint) -> Result<(), Error> {
        let ranks = [self.rank, message.peer as u32];
        self.sends.add(match_key(message, ranks, call), &encode_end(end))
    }

    /// Adds a receive, posted by the call with this number.
    pub(super) fn add_receive(&mut self, message: &PointToPointMessage, since: u64, end: MessageEndpoint) -> Result<(), Error> {
        let ranks = [message.peer as u32, self.rank];
        self.receives.add(match_key(message, ranks, since), &encode_end(end))
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        self.sends.finish()?;
        self.receives.finish()
    }
}

fn match_key(message: &PointToPointMessage, ranks: [u32; 2], call: u64) -> MatchKey {
    let mut key = [0; KEY_BYTES];
    key[..4].copy_from_slice(&message.communicator.to_be_bytes());
    key[4..8].copy_from_slice(&ranks[0].to_be_bytes());
    key[8..12].copy_from_slice(&ranks[1].to_be_bytes());
    key[12..16].copy_from_slice(&message.tag.to_be_bytes());
    key[16..].copy_from_slice(&call.to_be_bytes());
    key
}

fn decode_match(key: &MatchKey, send: MessageEndpoint, receive: MessageEndpoint) -> MatchedMessage {
    let word = |at: usize| *key[at..].first_chunk().expect("the key is longer");
    let (from, to, tag) = (u32::from_be_bytes(word(4)), u32::from_be_bytes(word(8)), i32::from_be_bytes(word(12)));
    MatchedMessage { from, to, tag, send, receive }
}

fn encode_end(end: MessageEndpoint) -> [u8; END_BYTES] {
    let mut bytes = [0; END_BYTES];
    bytes[..2].copy_from_slice(&end.thread.to_le_bytes());
    for (at, word) in [(2, end.logical_time), (10, end.physical_time), (18, end.bytes)] {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn decode_end(bytes: &[u8]) -> MessageEndpoint {
    let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("an end has this many bytes"));
    MessageEndpoint { thread: u16::from_le_bytes([bytes[0], bytes[1]]), logical_time: word(2), physical_time: word(10), bytes: word(18) }
}

fn next_end(ends: &mut RunMerge<'_, KEY_BYTES>) -> Result<Option<(MatchKey, MessageEndpoint)>, Error> {
    Ok(ends.next_item()?.map(|(key, content)| (key, decode_end(content))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(logical_time: u64) -> MessageEndpoint {
        MessageEndpoint { thread: 0, logical_time, physical_time: logical_time + 1, bytes: 8 }
    }

    fn message(peer: i32, tag: i32) -> PointToPointMessage {
        PointToPointMessage { peer, communicator: 0, tag, bytes: 8 }
    }

    #[test]
    fn messages_of_one_kind_are_received_in_the_order_in_which_they_were_sent() {
        let folder = tempfile::tempdir().unwrap();
        let messages = MessageMatcher::new(folder.path()).unwrap();
        let mut one = messages.for_rank(1);
        // The receive of the second message was complete first.
        one.add_receive(&message(0, 5), 9, end(200)).unwrap();
        one.add_receive(&message(0, 5), 8, end(300)).unwrap();
        one.add_receive(&message(0, 6), 7, end(400)).unwrap();
        one.add_receive(&message(2, 5), 7, end(500)).unwrap();
        one.finish().unwrap();
        let mut zero = messages.for_rank(0);
        for (call, tag) in [(0, 6), (1, 5), (2, 5), (3, 5)] {
            zero.add_send(&message(1, tag), call, end(call)).unwrap();
        }
        zero.finish().unwrap();
        let mut pairs = Vec::new();
        let unmatched = messages.for_each_match(|m| {
            pairs.push((m.tag, m.send.logical_time, m.receive.logical_time));
            Ok(())
        });
        assert_eq!(pairs, [(5, 1, 300), (5, 2, 200), (6, 0, 400)]);
        assert_eq!(unmatched.unwrap(), UnmatchedCounts { sends: 1, receives: 1 });
    }
}
