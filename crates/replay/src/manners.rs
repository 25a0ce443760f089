//! Calls that are made in another way than they were: what somebody who reads the report could change.
//!
//! These are changes of the program, so they need no machine: every other call takes as long after what it needed as it was recorded to.

use std::collections::HashMap;

use sintonia_mpi::Role;
use sintonia_recording::table::Shape;

use crate::schedule::LineId;

/// Messages up to this many bytes take about as long as empty ones, on any network.
const SMALL_BYTES: u64 = 4096;

/// Computation between two messages that is no longer than this only gets the next one ready, however quick the messages are.
pub const READIES_S: f64 = 1e-6;

/// The function, the rank at the other end and the communicator: two calls in a row with the same could be one.
pub type Exchange = (u16, i32, u32);

/// The small message that a call of this shape sends or receives, if it does.
pub fn small_message(shape: &Shape) -> Option<Exchange> {
    let bytes = match shape.operation.role() {
        Role::Send => shape.bytes_sent(),
        // What a nonblocking receive gets shows only later, so what it has room for counts.
        Role::Receive => shape.received,
        _ => return None,
    };
    (shape.peer >= 0 && bytes <= SMALL_BYTES).then_some((shape.operation.0, shape.peer, shape.object))
}

/// Another way to make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Not at all.
    Skipped,
    /// What it waits for is there.
    Unwaiting,
    /// It takes no time, but still waits.
    Free,
    /// All ranks do it together.
    Shared,
    /// It goes on beside the computation after it.
    Overlapped,
    /// A small message that follows another goes with that one.
    Merged,
    /// Of several messages, the one that is there is received first.
    InOrder,
}

impl Manner {
    /// Whether it is among those that stand in a set of bits.
    pub(crate) fn is_in(self, set: u8) -> bool {
        set & 1 << self as u8 != 0
    }
}

/// Calls of a line, by number from 0.
pub type CallNumber = u64;

/// Calls that are made in another way. The default is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manners {
    /// How those of each call site are made: bits by [`Manner`].
    sites: HashMap<u32, u8>,
    /// Ranks that are elsewhere.
    pub moved: Option<Moved>,
    /// Sends that were seen to wait for their receives, in order: run again, they would wait again.
    pub waiting_sends: HashMap<LineId, Vec<CallNumber>>,
    /// Receives that waited although another message was there, in order, each with the later receive that took that one.
    pub put_off: HashMap<LineId, Vec<(CallNumber, CallNumber)>>,
}

/// Ranks on other hosts than they were.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The host of each rank as it was.
    pub from: Vec<u32>,
    /// The host of each rank instead.
    pub to: Vec<u32>,
    /// Times as long for calls that receive only messages which no longer come from another host.
    pub times: f64,
}

impl Manners {
    /// The calls at a site are made in this manner too.
    pub fn change(&mut self, site: u32, manner: Manner) {
        *self.sites.entry(site).or_default() |= 1 << manner as u8;
    }

    /// How the calls at a site are made.
    pub(crate) fn at(&self, site: u32) -> u8 {
        self.sites.get(&site).copied().unwrap_or(0)
    }

    /// The later receive that a receive could have been changed with.
    pub(crate) fn put_off_to(&self, line: LineId, call: CallNumber) -> Option<CallNumber> {
        let calls = self.put_off.get(&line)?;
        let place = calls.binary_search_by_key(&call, |(early, _)| *early).ok()?;
        Some(calls[place].1)
    }

    /// Whether a send was seen to wait for its receive.
    pub(crate) fn waited(&self, line: LineId, call: CallNumber) -> bool {
        self.waiting_sends.get(&line).is_some_and(|calls| calls.binary_search(&call).is_ok())
    }
}

impl Moved {
    /// Whether a message comes from the same host now, and did not before.
    pub(crate) fn comes_nearer(&self, sender: u32, receiver: u32) -> bool {
        let together = |hosts: &[u32]| hosts.get(sender as usize) == hosts.get(receiver as usize);
        !together(&self.from) && together(&self.to)
    }
}
