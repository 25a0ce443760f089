//! Threads of a rank as one: what they did at the same time, in an order in which a single thread can do it.
//!
//! While a thread waits in a receive, another one may send what the receive needs in the end. Written one call after the other, such ranks would wait for
//! each other for ever. So what a call begins stands where it was entered, and what it completes where it was left, as if it did not block.

use std::collections::BTreeMap;

use sintonia_recording::deed::Deed;
use sintonia_recording::table::RequestId;

use crate::rows::Row;

/// So many parts of calls are held back: none is entered before so many others and left behind them.
const MOST: usize = 1 << 16;

/// Parts of calls, the earliest first.
#[derive(Default)]
pub(super) struct Woven<'a> {
    /// By moment, and by number among all parts.
    parts: BTreeMap<(i64, u64), Part<'a>>,
    /// How many there were.
    count: u64,
    /// How many requests stand for calls that have none.
    requests: u64,
}

struct Part<'a> {
    /// What stands at this moment.
    row: Row<'a>,
    /// The whole call, where another part of it follows.
    whole: Option<Row<'a>>,
}

impl<'a> Woven<'a> {
    /// Adds a call; they come in the order in which they ended.
    pub fn add(&mut self, row: &Row<'a>) {
        let (begun, completed) = self.torn(row);
        if begun.is_empty() || completed.is_empty() {
            let moment = if begun.is_empty() { row.leave } else { row.enter };
            return self.push(moment, Part { row: row.clone(), whole: None });
        }
        let begins = Row { leave: row.enter, deeds: begun, ..row.clone() };
        self.push(row.enter, Part { row: begins, whole: Some(row.clone()) });
        self.push(row.leave, Part { row: Row { deeds: completed, ..row.clone() }, whole: None });
    }

    /// The next part, once nothing earlier can come.
    pub fn due(&mut self) -> Option<Row<'a>> {
        if self.parts.len() > MOST { self.next() } else { None }
    }

    /// The next part, when all calls have come; a call that nothing came in between is not taken apart.
    pub fn next(&mut self) -> Option<Row<'a>> {
        let ((_, number), Part { row, whole }) = self.parts.pop_first()?;
        let Some(whole) = whole else { return Some(row) };
        // The parts of a call are numbered one after the other.
        match self.parts.first_entry() {
            Some(next) if next.key().1 == number + 1 => {
                next.remove();
                Some(whole)
            }
            _ => Some(row),
        }
    }

    fn push(&mut self, moment: i64, part: Part<'a>) {
        self.parts.insert((moment, self.count), part);
        self.count += 1;
    }

    /// What a call begins, and what it completes.
    fn torn(&mut self, row: &Row) -> (Vec<Deed>, Vec<Deed>) {
        let (mut begun, mut completed) = (Vec::new(), Vec::new());
        for deed in &row.deeds {
            match *deed {
                Deed::Send { message, request: None, synchronous } => {
                    let request = self.request(row.thread);
                    begun.push(Deed::Send { message, request: Some(request), synchronous });
                    completed.push(Deed::Sent { request, since: 0 });
                }
                Deed::Receive { message, request: None, since } => {
                    let request = self.request(row.thread);
                    begun.push(Deed::Post { request });
                    completed.push(Deed::Receive { message, request: Some(request), since });
                }
                Deed::Send { .. } | Deed::Post { .. } => begun.push(*deed),
                _ => completed.push(*deed),
            }
        }
        (begun, completed)
    }

    /// A request that no call has made: those of calls are counted from below.
    fn request(&mut self, thread: u16) -> RequestId {
        self.requests += 1;
        RequestId { thread, number: u64::MAX - self.requests }
    }
}
