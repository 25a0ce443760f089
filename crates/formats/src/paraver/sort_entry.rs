//! The parts of a trace record that concern one process, encoded to be [sorted](super::external_sort) by process and time.

/// Process, time, kind and line: the order in which a process is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryKey {
    /// The rank in the recording.
    pub rank: u32,
    /// Nanoseconds.
    pub time: u64,
    /// The kind. At equal times, calls begin and end before messages are assigned to them.
    pub kind: EntryKind,
    /// The line in the trace.
    pub line: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Types and values of events.
    Events,
    /// The root of the collective whose event is on this line.
    Root,
    Send,
    /// A posted receive.
    Post,
    /// A completed receive.
    Received,
}

/// Encoded size of an [`EntryKey`].
pub(super) const KEY_BYTES: usize = 21;

impl EntryKey {
    /// Encodes in sort order.
    pub(super) fn to_bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.rank.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.time.to_be_bytes());
        bytes[12] = self.kind as u8;
        bytes[13..].copy_from_slice(&self.line.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; KEY_BYTES]) -> EntryKey {
        let word = |at: usize| u64::from_be_bytes(*bytes[at..].first_chunk().expect("the key is longer"));
        let kinds = [EntryKind::Events, EntryKind::Root, EntryKind::Send, EntryKind::Post, EntryKind::Received];
        let rank = u32::from_be_bytes(*bytes.first_chunk().expect("the key is longer"));
        EntryKey { rank, time: word(4), kind: kinds[usize::from(bytes[12])], line: word(13) }
    }
}

/// Peer of a message, and this end's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceMessage {
    pub thread: u16,
    /// The peer's rank.
    pub peer: u32,
    pub tag: i32,
    pub bytes: u64,
}

impl TraceMessage {
    pub(super) fn to_bytes(self) -> [u8; 18] {
        let mut bytes = [0; 18];
        bytes[..2].copy_from_slice(&self.thread.to_le_bytes());
        bytes[2..6].copy_from_slice(&self.peer.to_le_bytes());
        bytes[6..10].copy_from_slice(&self.tag.to_le_bytes());
        bytes[10..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> TraceMessage {
        let small = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a message has these bytes"));
        let thread = u16::from_le_bytes([bytes[0], bytes[1]]);
        let length = u64::from_le_bytes(*bytes[10..].first_chunk().expect("a message has these bytes"));
        TraceMessage { thread, peer: small(2), tag: small(6) as i32, bytes: length }
    }
}

/// The events of one thread at one time, encoded: the thread, then types and values.
#[derive(Default)]
pub(super) struct EncodedEvents(Vec<u8>);

impl EncodedEvents {
    /// Clears it for a thread.
    pub(super) fn reset(&mut self, thread: u16) {
        self.0.clear();
        self.0.extend_from_slice(&thread.to_le_bytes());
    }

    pub(super) fn add(&mut self, event_type: u64, value: u64) {
        self.0.extend_from_slice(&event_type.to_le_bytes());
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.len() <= 2
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Decodes the thread, and types with values.
    pub(super) fn decode(bytes: &[u8]) -> (u16, impl Iterator<Item = (u64, u64)> + Clone) {
        let (thread, events) = bytes.split_at(2);
        let word = |event: &[u8], at: usize| u64::from_le_bytes(*event[at..].first_chunk().expect("an event has these bytes"));
        (u16::from_le_bytes([thread[0], thread[1]]), events.chunks_exact(16).map(move |event| (word(event, 0), word(event, 8))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_the_same_after_being_bytes() {
        let key = EntryKey { rank: 7, time: 1 << 40, kind: EntryKind::Post, line: 9 };
        assert_eq!(EntryKey::from_bytes(key.to_bytes()), key);
        let message = TraceMessage { thread: 3, peer: 4, tag: -1, bytes: 1 << 33 };
        assert_eq!(TraceMessage::from_bytes(&message.to_bytes()), message);
        let mut events = EncodedEvents::default();
        events.reset(5);
        assert!(events.is_empty());
        events.add(1, 2);
        events.add(3, u64::MAX);
        let (thread, pairs) = EncodedEvents::decode(events.as_bytes());
        assert_eq!((thread, pairs.collect::<Vec<_>>()), (5, vec![(1, 2), (3, u64::MAX)]));
    }

    #[test]
    fn keys_are_in_the_order_of_process_and_time() {
        let key = |rank, time, kind, line| EntryKey { rank, time, kind, line }.to_bytes();
        let ordered = [
            key(0, 9, EntryKind::Post, 1),
            key(1, 2, EntryKind::Events, 7),
            key(1, 2, EntryKind::Send, 3),
            key(1, 300, EntryKind::Events, 1),
        ];
        assert!(ordered.is_sorted());
    }
}
