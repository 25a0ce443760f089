//! Which send belongs to which receive, found by each rank alone.
//!
//! Messages between two ranks with the same communicator and tag arrive in the order in which they were sent, so both ends count them and
//! give the n-th the same name. The counts lie in a table of fixed size: two kinds of messages may share a count, and if the two ends then
//! take them in different orders, their names differ and an arrow is missing. With fewer than some thousand kinds of messages per rank that
//! hardly happens, and memory does not grow with the run, even if every message has a tag of its own.

use std::hash::{DefaultHasher, Hash, Hasher};

use sintonia_recording::deed::{Deed, Message};

/// Counts of each direction.
const COUNTS: usize = 1 << 20;

/// The messages that one rank has sent and received so far.
pub(crate) struct Arrows {
    rank: i32,
    sent: Vec<u32>,
    received: Vec<u32>,
}

/// One end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A message leaves here: its name.
    Tail(u64),
    /// This message has arrived here: its name.
    Head(Message, u64),
}

impl Arrows {
    /// Those of a rank that has not done anything yet.
    pub fn of(rank: u32) -> Arrows {
        Arrows { rank: rank as i32, sent: vec![0; COUNTS], received: vec![0; COUNTS] }
    }

    /// The end of an arrow that a deed is; `None` if it is no message, or its other end is outside the recording.
    pub fn end(&mut self, deed: &Deed) -> Option<End> {
        match deed {
            Deed::Send { message, .. } if message.peer >= 0 => Some(End::Tail(name(&mut self.sent, message, [self.rank, message.peer]))),
            Deed::Receive { message, .. } if message.peer >= 0 => {
                Some(End::Head(*message, name(&mut self.received, message, [message.peer, self.rank])))
            }
            _ => None,
        }
    }
}

/// Counts a message and names it, the same at both ends.
fn name(counts: &mut [u32], message: &Message, ranks: [i32; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (message.communicator, message.tag, ranks).hash(&mut hasher);
    let count = &mut counts[hasher.finish() as usize % COUNTS];
    *count = count.wrapping_add(1);
    count.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(peer: i32, tag: i32) -> Deed {
        Deed::Send { message: Message { peer, communicator: 0, tag, bytes: 8 }, request: None, synchronous: false }
    }

    fn receive(peer: i32, tag: i32) -> Deed {
        Deed::Receive { message: Message { peer, communicator: 0, tag, bytes: 8 }, request: None, since: 0 }
    }

    fn names(rank: u32, deeds: &[Deed]) -> Vec<u64> {
        let mut arrows = Arrows::of(rank);
        let name = |end| match end {
            End::Tail(name) | End::Head(_, name) => name,
        };
        deeds.iter().filter_map(|deed| arrows.end(deed)).map(name).collect()
    }

    #[test]
    fn the_nth_message_has_one_name_at_both_ends() {
        let sent = names(3, &[send(5, 1), send(5, 2), send(5, 1), send(4, 1)]);
        let received = names(5, &[receive(3, 2), receive(3, 1), receive(3, 1)]);
        assert_eq!(received, [sent[1], sent[0], sent[2]]);
        assert_ne!(sent[0], sent[3], "a message to another rank");
    }

    #[test]
    fn messages_from_and_to_outside_have_no_arrow() {
        let outside = sintonia_recording::raw::OUTSIDE;
        assert!(names(0, &[send(outside, 1), receive(outside, 1)]).is_empty());
    }
}
