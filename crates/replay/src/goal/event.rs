//! What can happen, in one number.

/// Something that happens, packed so that events of one moment are in order: the number in the order of all events, what, to which operation.
#[derive(Clone, Copy)]
pub struct Event(pub u64);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An operation may begin.
    Begin,
    /// The message of a send has arrived, and may be taken in.
    Arrive,
    /// An operation is done: only where what waits for it may go on elsewhere before its own processor is free.
    End,
}

impl Event {
    /// An event, when its number in the order of all is known.
    pub fn new(number: u32, what: What, operation: u32) -> Event {
        Event((u64::from(number) << 32) | ((what as u64) << 30) | u64::from(operation))
    }

    /// What happens.
    pub fn what(self) -> What {
        match (self.0 >> 30) & 3 {
            0 => What::Begin,
            1 => What::Arrive,
            _ => What::End,
        }
    }

    /// To which operation.
    pub fn operation(self) -> u32 {
        self.0 as u32 & ((1 << 30) - 1)
    }
}
