//! What a trace says of one process at one moment, in bytes that can be [sorted](super::sort) by process and time.

/// The process, the time, the kind and the line: the order in which a process is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The process, by its rank in the recording.
    pub rank: u32,
    /// When, in nanoseconds.
    pub time: u64,
    /// What. Where several things happen at once, calls begin and end before messages are found to be theirs.
    pub kind: Kind,
    /// The line in the trace.
    pub line: u64,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Types and values of events.
    Events,
    /// The root of the collective call that began on this line.
    Root,
    /// A message that was sent.
    Send,
    /// A message that began to be received.
    Post,
    /// A message that has been received.
    Received,
}

/// Bytes of a [`Key`].
pub const KEY_BYTES: usize = 21;

impl Key {
    /// As bytes that are in the same order.
    pub fn bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.rank.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.time.to_be_bytes());
        bytes[12] = self.kind as u8;
        bytes[13..].copy_from_slice(&self.line.to_be_bytes());
        bytes
    }

    /// Reads it again.
    pub fn of(bytes: [u8; KEY_BYTES]) -> Key {
        let word = |at: usize| u64::from_be_bytes(*bytes[at..].first_chunk().expect("the key is longer"));
        let kinds = [Kind::Events, Kind::Root, Kind::Send, Kind::Post, Kind::Received];
        let rank = u32::from_be_bytes(*bytes.first_chunk().expect("the key is longer"));
        Key { rank, time: word(4), kind: kinds[usize::from(bytes[12])], line: word(13) }
    }
}

/// The other end of a message, and the thread of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The thread.
    pub thread: u16,
    /// The rank at the other end.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// How long it is.
    pub bytes: u64,
}

impl Message {
    /// As bytes.
    pub fn bytes(self) -> [u8; 18] {
        let mut bytes = [0; 18];
        bytes[..2].copy_from_slice(&self.thread.to_le_bytes());
        bytes[2..6].copy_from_slice(&self.peer.to_le_bytes());
        bytes[6..10].copy_from_slice(&self.tag.to_le_bytes());
        bytes[10..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    /// Reads it again.
    pub fn of(bytes: &[u8]) -> Message {
        let small = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a message has these bytes"));
        let thread = u16::from_le_bytes([bytes[0], bytes[1]]);
        let length = u64::from_le_bytes(*bytes[10..].first_chunk().expect("a message has these bytes"));
        Message { thread, peer: small(2), tag: small(6) as i32, bytes: length }
    }
}

/// The events of one thread at one moment, as bytes: the thread, then types and values.
#[derive(Default)]
pub struct Events(Vec<u8>);

impl Events {
    /// Begins with none.
    pub fn begin(&mut self, thread: u16) {
        self.0.clear();
        self.0.extend_from_slice(&thread.to_le_bytes());
    }

    /// Adds a type and a value.
    pub fn add(&mut self, event_type: u64, value: u64) {
        self.0.extend_from_slice(&event_type.to_le_bytes());
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.len() <= 2
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads them again: the thread, and types with values.
    pub fn of(bytes: &[u8]) -> (u16, impl Iterator<Item = (u64, u64)> + Clone) {
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
        let key = Key { rank: 7, time: 1 << 40, kind: Kind::Post, line: 9 };
        assert_eq!(Key::of(key.bytes()), key);
        let message = Message { thread: 3, peer: 4, tag: -1, bytes: 1 << 33 };
        assert_eq!(Message::of(&message.bytes()), message);
        let mut events = Events::default();
        events.begin(5);
        assert!(events.is_empty());
        events.add(1, 2);
        events.add(3, u64::MAX);
        let (thread, pairs) = Events::of(events.bytes());
        assert_eq!((thread, pairs.collect::<Vec<_>>()), (5, vec![(1, 2), (3, u64::MAX)]));
    }

    #[test]
    fn keys_are_in_the_order_of_process_and_time() {
        let key = |rank, time, kind, line| Key { rank, time, kind, line }.bytes();
        let ordered = [key(0, 9, Kind::Post, 1), key(1, 2, Kind::Events, 7), key(1, 2, Kind::Send, 3), key(1, 300, Kind::Events, 1)];
        assert!(ordered.is_sorted());
    }
}
