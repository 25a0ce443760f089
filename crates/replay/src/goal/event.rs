//! What can happen, in 16 bytes: so many events are moved about that their size counts.

use std::cmp::Ordering;

/// Something that happens. Events of one moment happen in the order of their numbers, of which each is given once.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    number: u32,
    operation: u32,
    /// The rank where it happens.
    pub rank: u32,
    what: What,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A computation may begin.
    Compute,
    /// A send may begin.
    Send,
    /// A receive begins.
    Receive,
    /// The message of a send has arrived, and may be taken in.
    Arrive,
    /// An operation is done: only where what waits for it may go on elsewhere before its own processor is free.
    End,
}

impl Event {
    /// An event, when its number in the order of all is known.
    #[inline]
    pub fn new(number: u32, what: What, operation: u32, rank: u32) -> Event {
        Event { number, operation, rank, what }
    }

    /// What happens.
    #[inline]
    pub fn what(self) -> What {
        self.what
    }

    /// To which operation, or to the message of which send.
    #[inline]
    pub fn operation(self) -> u32 {
        self.operation
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.number == other.number
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        self.number.cmp(&other.number)
    }
}
