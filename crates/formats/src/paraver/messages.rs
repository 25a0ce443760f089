//! Which send belongs to which receive.
//!
//! Messages between two ranks with the same communicator and tag are received in the order in which they were sent. So both ends are
//! sorted by communicator, ranks, tag and place in their rank's calls, and the n-th of the one is the n-th of the other. Neither needs to
//! be in memory for that.

use std::path::Path;

use sintonia_recording::deed::Message;
use sintonia_recording::raw;

use super::sort::{Collector, Merge, Runs};
use crate::Error;

/// Bytes of a [`Key`].
const KEY_BYTES: usize = 24;
/// Communicator, source, destination, tag, and the number of the call that sent it or began to receive it.
type Key = [u8; KEY_BYTES];
/// The part of a [`Key`] in which the two ends of a message are equal.
const CHANNEL: usize = 16;
/// Bytes of an [`End`].
const END_BYTES: usize = 26;

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The thread.
    pub thread: u16,
    /// When the program asked for it.
    pub logical: u64,
    /// When it had been sent or received.
    pub physical: u64,
    /// How long the message is; [`raw::UNKNOWN_BYTES`] if this end does not know.
    pub bytes: u64,
}

/// A message with both its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The rank that sent it.
    pub from: u32,
    /// The rank that received it.
    pub to: u32,
    /// The tag.
    pub tag: i32,
    /// How it was sent.
    pub send: End,
    /// How it was received.
    pub receive: End,
}

impl Matched {
    /// Bytes of the message: those that arrived.
    pub fn bytes(&self) -> u64 {
        [self.receive.bytes, self.send.bytes].into_iter().find(|bytes| *bytes != raw::UNKNOWN_BYTES).unwrap_or(0)
    }
}

/// The messages of a recording.
pub struct Messages {
    sends: Runs<KEY_BYTES>,
    receives: Runs<KEY_BYTES>,
}

/// The messages of one rank.
pub struct Own<'a> {
    rank: u32,
    sends: Collector<'a, KEY_BYTES>,
    receives: Collector<'a, KEY_BYTES>,
}

/// How many ends have no other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Messages that nobody received.
    pub sends: u64,
    /// Messages that nobody sent.
    pub receives: u64,
}

impl Messages {
    /// Begins with nothing; temporary files will be in this folder.
    pub fn new(folder: &Path) -> Result<Messages, Error> {
        Ok(Messages { sends: Runs::new(folder)?, receives: Runs::new(folder)? })
    }

    /// A place for the messages of a rank.
    pub fn of(&self, rank: u32) -> Own<'_> {
        Own { rank, sends: self.sends.collect(), receives: self.receives.collect() }
    }

    /// Hands out every message of which both ends are known, and counts the others.
    pub fn each(&self, mut use_message: impl FnMut(&Matched) -> Result<(), Error>) -> Result<Unmatched, Error> {
        let (mut sends, mut receives) = (self.sends.merge()?, self.receives.merge()?);
        let (mut send, mut receive) = (next(&mut sends)?, next(&mut receives)?);
        let mut unmatched = Unmatched::default();
        loop {
            match (send, receive) {
                (Some((one, from)), Some((other, to))) if one[..CHANNEL] == other[..CHANNEL] => {
                    use_message(&matched(&one, from, to))?;
                    (send, receive) = (next(&mut sends)?, next(&mut receives)?);
                }
                (Some((one, _)), other) if other.is_none_or(|(other, _)| one[..CHANNEL] < other[..CHANNEL]) => {
                    unmatched.sends += 1;
                    send = next(&mut sends)?;
                }
                (_, Some(_)) => {
                    unmatched.receives += 1;
                    receive = next(&mut receives)?;
                }
                (_, None) => return Ok(unmatched),
            }
        }
    }
}

impl Own<'_> {
    /// A message that the rank sent, in its call of this number.
    pub fn sent(&mut self, message: &Message, call: u64, end: End) -> Result<(), Error> {
        let ranks = [self.rank, message.peer as u32];
        self.sends.add(key(message, ranks, call), &encode(end))
    }

    /// A message that the rank received; it began to in its call of this number.
    pub fn received(&mut self, message: &Message, since: u64, end: End) -> Result<(), Error> {
        let ranks = [message.peer as u32, self.rank];
        self.receives.add(key(message, ranks, since), &encode(end))
    }

    /// There are no more.
    pub fn finish(self) -> Result<(), Error> {
        self.sends.finish()?;
        self.receives.finish()
    }
}

fn key(message: &Message, ranks: [u32; 2], call: u64) -> Key {
    let mut key = [0; KEY_BYTES];
    key[..4].copy_from_slice(&message.communicator.to_be_bytes());
    key[4..8].copy_from_slice(&ranks[0].to_be_bytes());
    key[8..12].copy_from_slice(&ranks[1].to_be_bytes());
    key[12..16].copy_from_slice(&message.tag.to_be_bytes());
    key[16..].copy_from_slice(&call.to_be_bytes());
    key
}

fn matched(key: &Key, send: End, receive: End) -> Matched {
    let word = |at: usize| *key[at..].first_chunk().expect("the key is longer");
    let (from, to, tag) = (u32::from_be_bytes(word(4)), u32::from_be_bytes(word(8)), i32::from_be_bytes(word(12)));
    Matched { from, to, tag, send, receive }
}

fn encode(end: End) -> [u8; END_BYTES] {
    let mut bytes = [0; END_BYTES];
    bytes[..2].copy_from_slice(&end.thread.to_le_bytes());
    for (at, word) in [(2, end.logical), (10, end.physical), (18, end.bytes)] {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> End {
    let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("an end has this many bytes"));
    End { thread: u16::from_le_bytes([bytes[0], bytes[1]]), logical: word(2), physical: word(10), bytes: word(18) }
}

fn next(ends: &mut Merge<'_, KEY_BYTES>) -> Result<Option<(Key, End)>, Error> {
    Ok(ends.next_item()?.map(|(key, content)| (key, decode(content))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(logical: u64) -> End {
        End { thread: 0, logical, physical: logical + 1, bytes: 8 }
    }

    fn message(peer: i32, tag: i32) -> Message {
        Message { peer, communicator: 0, tag, bytes: 8 }
    }

    #[test]
    fn messages_of_one_kind_are_received_in_the_order_in_which_they_were_sent() {
        let folder = tempfile::tempdir().unwrap();
        let messages = Messages::new(folder.path()).unwrap();
        let mut one = messages.of(1);
        // The receive of the second message was complete first.
        one.received(&message(0, 5), 9, end(200)).unwrap();
        one.received(&message(0, 5), 8, end(300)).unwrap();
        one.received(&message(0, 6), 7, end(400)).unwrap();
        one.received(&message(2, 5), 7, end(500)).unwrap();
        one.finish().unwrap();
        let mut zero = messages.of(0);
        for (call, tag) in [(0, 6), (1, 5), (2, 5), (3, 5)] {
            zero.sent(&message(1, tag), call, end(call)).unwrap();
        }
        zero.finish().unwrap();
        let mut pairs = Vec::new();
        let unmatched = messages.each(|m| {
            pairs.push((m.tag, m.send.logical, m.receive.logical));
            Ok(())
        });
        assert_eq!(pairs, [(5, 1, 300), (5, 2, 200), (6, 0, 400)]);
        assert_eq!(unmatched.unwrap(), Unmatched { sends: 1, receives: 1 });
    }
}
