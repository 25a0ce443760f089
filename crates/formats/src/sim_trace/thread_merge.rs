//! Merges the threads of a rank into one sequence that a single thread can execute.
//!
//! While one thread is blocked in a receive, another may send what that receive needs in the end. Written one call after the other, such
//! ranks would deadlock. So a call's starts are placed at its enter time and its completions at its leave time, as if it did not block.

use std::collections::BTreeMap;

use sintonia_recording::call_table::RequestId;
use sintonia_recording::comm_event::CommEvent;

use crate::exported_calls::ExportedCall;

/// Limit of buffered parts: no call spans more others than this.
const MAX_BUFFERED_PARTS: usize = 1 << 16;

/// Parts of calls in time order.
#[derive(Default)]
pub(super) struct ThreadMerger<'a> {
    /// By time and number.
    parts: BTreeMap<(i64, u64), CallPart<'a>>,
    part_count: u64,
    /// Number of requests created for blocking calls.
    synthetic_count: u64,
}

struct CallPart<'a> {
    /// What happens at this time.
    call: ExportedCall<'a>,
    /// The whole call, where another part of it follows.
    whole_call: Option<ExportedCall<'a>>,
}

impl<'a> ThreadMerger<'a> {
    /// Adds a call; calls come in the order in which they ended.
    pub(super) fn add(&mut self, call: &ExportedCall<'a>) {
        let (started, completed) = self.split_events(call);
        if started.is_empty() || completed.is_empty() {
            let time = if started.is_empty() { call.leave } else { call.enter };
            return self.push(time, CallPart { call: call.clone(), whole_call: None });
        }
        let begins = ExportedCall { leave: call.enter, events: started, ..call.clone() };
        self.push(call.enter, CallPart { call: begins, whole_call: Some(call.clone()) });
        self.push(call.leave, CallPart { call: ExportedCall { events: completed, ..call.clone() }, whole_call: None });
    }

    /// The next part, once nothing earlier can come.
    pub(super) fn pop_due(&mut self) -> Option<ExportedCall<'a>> {
        if self.parts.len() > MAX_BUFFERED_PARTS { self.pop() } else { None }
    }

    /// The next part after the last call; a call that was not interleaved with others is not split.
    pub(super) fn pop(&mut self) -> Option<ExportedCall<'a>> {
        let ((_, number), CallPart { call, whole_call }) = self.parts.pop_first()?;
        let Some(whole_call) = whole_call else { return Some(call) };
        // The parts of a call have consecutive numbers.
        match self.parts.first_entry() {
            Some(next) if next.key().1 == number + 1 => {
                next.remove();
                Some(whole_call)
            }
            _ => Some(call),
        }
    }

    fn push(&mut self, time: i64, part: CallPart<'a>) {
        self.parts.insert((time, self.part_count), part);
        self.part_count += 1;
    }

    /// What a call starts, and what it completes.
    fn split_events(&mut self, call: &ExportedCall) -> (Vec<CommEvent>, Vec<CommEvent>) {
        let (mut started, mut completed) = (Vec::new(), Vec::new());
        for event in &call.events {
            match *event {
                CommEvent::Send { message, request: None, synchronous } => {
                    let request = self.synthetic_request(call.thread);
                    started.push(CommEvent::Send { message, request: Some(request), synchronous });
                    completed.push(CommEvent::SendComplete { request, begin_call: 0 });
                }
                CommEvent::Receive { message, request: None, begin_call: since } => {
                    let request = self.synthetic_request(call.thread);
                    started.push(CommEvent::ReceivePost { request });
                    completed.push(CommEvent::Receive { message, request: Some(request), begin_call: since });
                }
                CommEvent::Send { .. } | CommEvent::ReceivePost { .. } => started.push(*event),
                _ => completed.push(*event),
            }
        }
        (started, completed)
    }

    /// A request id that no call uses: those of calls count from zero.
    fn synthetic_request(&mut self, thread: u16) -> RequestId {
        self.synthetic_count += 1;
        RequestId { thread, number: u64::MAX - self.synthetic_count }
    }
}
