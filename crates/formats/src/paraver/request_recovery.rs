//! Recovers the requests of a process, which a trace does not have.
//!
//! The start and completion of a nonblocking receive share a message. The completion of a nonblocking send is not recorded; it is assumed
//! to be the first wait that can have waited for it. A persistent request is matched with the operation it is seen to start.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest, RequestId};
use sintonia_recording::raw::{self, RequestRef, part};

use super::sort_entry::TraceMessage;
use super::trace_call::TraceCall;
use super::trace_scan::SentMessage;

/// Limit of remembered requests with unknown completion.
const MAX_OUTSTANDING: usize = 1 << 16;

/// The requests of a process.
#[derive(Default)]
pub(super) struct RequestRecovery {
    threads: BTreeMap<u16, ThreadRequests>,
    /// Receives in progress, by the line of their message.
    receives: HashMap<u64, ReceiveState>,
    /// Messages without a request.
    pub stray: u64,
}

/// The requests of one thread.
#[derive(Default)]
struct ThreadRequests {
    next_number: u64,
    /// Requests with unknown completion, oldest first.
    outstanding: VecDeque<u64>,
    /// Receives with unknown message.
    unclaimed: VecDeque<u64>,
    persistent: Vec<PersistentHandle>,
}

/// A persistent request.
struct PersistentHandle {
    request: u64,
    operation: PersistentOp,
    active: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PersistentOp {
    Send(Option<SentMessage>),
    Receive,
    Other,
}

/// How a message is being received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReceiveState {
    /// By a blocking call.
    Blocking,
    /// By a call not yet written.
    Pending,
    Request(RequestId),
}

impl ThreadRequests {
    /// A listed request that receives nothing.
    fn listed_request(&self, request: u64) -> ListedRequest {
        ListedRequest { request: self.request_ref(request), is_receive: false, peer: raw::NONE, tag: raw::NONE, received: 0 }
    }

    fn request_ref(&self, request: u64) -> RequestRef {
        RequestRef::Relative(self.next_number.saturating_sub(request + 1))
    }

    /// Makes a persistent request available to be started again.
    fn deactivate(&mut self, request: u64) {
        self.persistent.iter_mut().filter(|persistent| persistent.request == request).for_each(|persistent| persistent.active = false);
    }
}

fn push_bounded(requests: &mut VecDeque<u64>, request: u64) {
    requests.push_back(request);
    if requests.len() > MAX_OUTSTANDING {
        requests.pop_front();
    }
}

impl RequestRecovery {
    /// The message of this line is posted, by a blocking or nonblocking call.
    pub(super) fn post_receive(&mut self, line: u64, waits: bool) {
        self.receives.insert(line, if waits { ReceiveState::Blocking } else { ReceiveState::Pending });
    }

    /// The message of this line was received; returns whether by another call than the one that posted it.
    pub(super) fn is_completed_elsewhere(&mut self, line: u64) -> bool {
        if self.receives.get(&line) == Some(&ReceiveState::Blocking) {
            self.receives.remove(&line);
            return false;
        }
        true
    }

    /// The message of this line was not received by any call.
    pub(super) fn forget_receive(&mut self, line: u64) {
        self.receives.remove(&line);
    }

    /// Adds the effects of a call on requests to its descriptor.
    pub(super) fn apply_call(&mut self, thread: u16, call: &TraceCall, descriptor: &mut CallDescriptor) {
        match call.role() {
            _ if call.completes_requests() => self.complete_requests(thread, call, descriptor),
            FunctionRole::Start | FunctionRole::StartAll => self.start_requests(thread, call, descriptor),
            FunctionRole::RequestFree => {
                let requests = self.threads.entry(thread).or_default();
                if let Some(index) = requests.persistent.iter().position(|persistent| !persistent.active) {
                    requests.persistent.remove(index);
                }
            }
            _ if call.mode() != BlockingMode::Blocking => self.create_request(thread, call, descriptor),
            _ => {}
        }
    }

    fn create_request(&mut self, thread: u16, call: &TraceCall, descriptor: &mut CallDescriptor) {
        descriptor.parts |= part::REQUEST;
        let requests = self.threads.entry(thread).or_default();
        let number = requests.next_number;
        requests.next_number += 1;
        let receives = matches!(call.role(), FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::SendReceive);
        match call.receives.first() {
            _ if call.mode() == BlockingMode::Persistent => {
                let operation = match call.role() {
                    _ if receives => PersistentOp::Receive,
                    FunctionRole::Send => {
                        PersistentOp::Send(u32::try_from(descriptor.peer).ok().map(|peer| (peer, descriptor.tag, descriptor.sent)))
                    }
                    _ => PersistentOp::Other,
                };
                requests.persistent.push(PersistentHandle { request: number, operation, active: false });
            }
            Some((line, _)) => _ = self.receives.insert(*line, ReceiveState::Request(RequestId { thread, number })),
            None if receives => push_bounded(&mut requests.unclaimed, number),
            None => push_bounded(&mut requests.outstanding, number),
        }
    }

    /// Starts a request for each message that the call sent or posted, or one of another kind.
    fn start_requests(&mut self, thread: u16, call: &TraceCall, descriptor: &mut CallDescriptor) {
        descriptor.parts |= part::STARTED;
        let sends = call.sends.iter().map(|message| (PersistentOp::Send(Some((message.peer, message.tag, message.bytes))), None));
        let receives = call.receives.iter().map(|(line, _)| (PersistentOp::Receive, Some(*line)));
        let other = (call.sends.is_empty() && call.receives.is_empty()).then_some((PersistentOp::Other, None));
        let requests = self.threads.entry(thread).or_default();
        for (operation, line) in sends.chain(receives).chain(other) {
            let Some(persistent) =
                requests.persistent.iter_mut().find(|persistent| !persistent.active && persistent.operation == operation)
            else {
                self.stray += u64::from(operation != PersistentOp::Other);
                continue;
            };
            persistent.active = true;
            let number = persistent.request;
            descriptor.requests.push(requests.listed_request(number));
            match line {
                Some(line) => _ = self.receives.insert(line, ReceiveState::Request(RequestId { thread, number })),
                None => push_bounded(&mut requests.outstanding, number),
            }
        }
    }

    fn complete_requests(&mut self, thread: u16, call: &TraceCall, descriptor: &mut CallDescriptor) {
        for (line, message) in &call.completions {
            match self.complete_receive(thread, *line, message) {
                Some(listed) => descriptor.requests.push(listed),
                None => self.stray += 1,
            }
        }
        self.complete_non_receives(thread, call, descriptor);
        // In order of creation, as most programs list them.
        descriptor.requests.sort_by_key(|listed| match listed.request {
            RequestRef::Relative(ago) => Reverse(ago),
            RequestRef::Absolute(..) => Reverse(0),
        });
    }

    /// The receive completed by this message: the one that was posted with it, else the oldest one with unknown message.
    fn complete_receive(&mut self, thread: u16, line: u64, message: &TraceMessage) -> Option<ListedRequest> {
        let posted = self.receives.remove(&line);
        let requests = self.threads.entry(thread).or_default();
        let request = match posted {
            Some(ReceiveState::Request(request)) => request,
            _ => RequestId { thread, number: requests.unclaimed.pop_front()? },
        };
        let reference = match request.thread == thread {
            true => requests.request_ref(request.number),
            false => RequestRef::Absolute(request.thread, request.number),
        };
        self.threads.entry(request.thread).or_default().deactivate(request.number);
        let (peer, tag, received) = (message.peer as i32, message.tag, message.bytes);
        Some(ListedRequest { request: reference, is_receive: true, peer, tag, received })
    }

    /// Completes requests that are no receives: a wait for one completes one, unless it completed a receive; a wait for all completes all.
    /// Tests are handled like waits, because Extrae does not record unsuccessful ones.
    fn complete_non_receives(&mut self, thread: u16, call: &TraceCall, descriptor: &mut CallDescriptor) {
        let requests = self.threads.entry(thread).or_default();
        let count = match call.role() {
            _ if descriptor.parts & part::FLAG_FALSE != 0 => 0,
            FunctionRole::CompleteAll => requests.outstanding.len(),
            _ if !descriptor.requests.is_empty() => 0,
            _ => requests.outstanding.len().min(1),
        };
        for _ in 0..count {
            let Some(number) = requests.outstanding.pop_front() else { return };
            descriptor.requests.push(requests.listed_request(number));
            requests.deactivate(number);
        }
    }
}
