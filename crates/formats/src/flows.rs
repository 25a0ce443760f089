//! Flow ids of messages, computed by each rank alone.
//!
//! MPI messages between two ranks with the same communicator and tag do not overtake each other, so both ends can count them and derive the
//! same id for the n-th one. The counters are a table of fixed size: two channels may share a counter, and if the two ends then see the
//! messages in different orders, the ids differ and an arrow is missing. With fewer than a few thousand channels per rank this is rare, and
//! memory does not grow with the run.

use std::hash::{DefaultHasher, Hash, Hasher};

use sintonia_recording::comm_event::{CommEvent, PointToPointMessage};

/// Counters per direction.
const COUNTER_SLOTS: usize = 1 << 20;

/// Message counters of one rank.
pub(crate) struct FlowIds {
    rank: i32,
    sent: Vec<u32>,
    received: Vec<u32>,
}

/// One end of a flow arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEnd {
    /// The send; its flow id.
    Start(u64),
    /// The receive of this message; its flow id.
    Finish(PointToPointMessage, u64),
}

impl FlowIds {
    /// Starts with no messages.
    pub(crate) fn new(rank: u32) -> FlowIds {
        FlowIds { rank: rank as i32, sent: vec![0; COUNTER_SLOTS], received: vec![0; COUNTER_SLOTS] }
    }

    /// The flow end of an event; `None` if it is no message or its peer is not in the recording.
    pub(crate) fn flow_end(&mut self, event: &CommEvent) -> Option<FlowEnd> {
        match event {
            CommEvent::Send { message, .. } if message.peer >= 0 => {
                Some(FlowEnd::Start(next_flow_id(&mut self.sent, message, [self.rank, message.peer])))
            }
            CommEvent::Receive { message, .. } if message.peer >= 0 => {
                Some(FlowEnd::Finish(*message, next_flow_id(&mut self.received, message, [message.peer, self.rank])))
            }
            _ => None,
        }
    }
}

/// Counts a message; the id is the same at both ends.
fn next_flow_id(counts: &mut [u32], message: &PointToPointMessage, ranks: [i32; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (message.communicator, message.tag, ranks).hash(&mut hasher);
    let count = &mut counts[hasher.finish() as usize % COUNTER_SLOTS];
    *count = count.wrapping_add(1);
    count.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(peer: i32, tag: i32) -> CommEvent {
        CommEvent::Send { message: PointToPointMessage { peer, communicator: 0, tag, bytes: 8 }, request: None, synchronous: false }
    }

    fn receive(peer: i32, tag: i32) -> CommEvent {
        CommEvent::Receive { message: PointToPointMessage { peer, communicator: 0, tag, bytes: 8 }, request: None, begin_call: 0 }
    }

    fn names(rank: u32, events: &[CommEvent]) -> Vec<u64> {
        let mut flows = FlowIds::new(rank);
        let name = |end| match end {
            FlowEnd::Start(name) | FlowEnd::Finish(_, name) => name,
        };
        events.iter().filter_map(|event| flows.flow_end(event)).map(name).collect()
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
        let outside = sintonia_recording::raw::EXTERNAL;
        assert!(names(0, &[send(outside, 1), receive(outside, 1)]).is_empty());
    }
}
