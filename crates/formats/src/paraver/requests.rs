//! The requests of a process. A trace has none: they are found again from what calls did.
//!
//! A nonblocking receive begins in one call and ends in another; the two belong together because the same message lies in both. When a
//! nonblocking send is complete, no trace says; it is taken to be the first wait that can have waited for it. A persistent request is one
//! that was made for what it is seen to be started for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

use sintonia_mpi::{Mode, Role};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::table::{ListedRequest, RequestId, Shape};

use super::call::Call;
use super::entry::Message;
use super::survey::Sent;

/// Requests of which it is not known when they are complete that are remembered.
const MOST_OUTSTANDING: usize = 1 << 16;

/// The requests of a process.
#[derive(Default)]
pub struct Requests {
    threads: BTreeMap<u16, Own>,
    /// The receives under way, by the line of their message.
    posted: HashMap<u64, Posted>,
    /// Messages for which there is no request.
    pub stray: u64,
}

/// The requests that one thread made.
#[derive(Default)]
struct Own {
    next: u64,
    /// Those of which it is not known when they are complete, the oldest first.
    outstanding: VecDeque<u64>,
    /// Receives whose message is not known yet.
    unclaimed: VecDeque<u64>,
    persistent: Vec<Persistent>,
}

/// A persistent request.
struct Persistent {
    request: u64,
    purpose: Purpose,
    active: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Send(Option<Sent>),
    Receive,
    Other,
}

/// How a message is being received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Posted {
    /// By a call that waits for it.
    Blocking,
    /// By a call that has not been written yet.
    Begun,
    /// By a request.
    Request(RequestId),
}

impl Own {
    /// One that is complete, or that is only started: nothing is received.
    fn listed(&self, request: u64) -> ListedRequest {
        ListedRequest { request: self.reference(request), receive: false, peer: raw::NONE, tag: raw::NONE, received: 0 }
    }

    fn reference(&self, request: u64) -> RequestRef {
        RequestRef::Ago(self.next.saturating_sub(request + 1))
    }

    /// Gives a persistent one back to those that can be started.
    fn rest(&mut self, request: u64) {
        self.persistent.iter_mut().filter(|persistent| persistent.request == request).for_each(|persistent| persistent.active = false);
    }
}

fn remember(requests: &mut VecDeque<u64>, request: u64) {
    requests.push_back(request);
    if requests.len() > MOST_OUTSTANDING {
        requests.pop_front();
    }
}

impl Requests {
    /// The message of this line begins to be received, by a call that waits for it or by one that does not.
    pub fn post(&mut self, line: u64, waits: bool) {
        self.posted.insert(line, if waits { Posted::Blocking } else { Posted::Begun });
    }

    /// The message of this line has been received; says whether by a call that is not the one that began it.
    pub fn is_completed_elsewhere(&mut self, line: u64) -> bool {
        if self.posted.get(&line) == Some(&Posted::Blocking) {
            self.posted.remove(&line);
            return false;
        }
        true
    }

    /// The message of this line has been received by nobody.
    pub fn give_up(&mut self, line: u64) {
        self.posted.remove(&line);
    }

    /// What a call does to requests is added to its shape.
    pub fn follow(&mut self, thread: u16, call: &Call, shape: &mut Shape) {
        match call.role() {
            _ if call.completes() => self.complete(thread, call, shape),
            Role::Start | Role::StartAll => self.start(thread, call, shape),
            Role::RequestFree => {
                let own = self.threads.entry(thread).or_default();
                if let Some(place) = own.persistent.iter().position(|persistent| !persistent.active) {
                    own.persistent.remove(place);
                }
            }
            _ if call.mode() != Mode::Blocking => self.make(thread, call, shape),
            _ => {}
        }
    }

    fn make(&mut self, thread: u16, call: &Call, shape: &mut Shape) {
        shape.parts |= part::REQUEST;
        let own = self.threads.entry(thread).or_default();
        let number = own.next;
        own.next += 1;
        let receives = matches!(call.role(), Role::Receive | Role::MatchedReceive | Role::SendReceive);
        match call.receives.first() {
            _ if call.mode() == Mode::Persistent => {
                let purpose = match call.role() {
                    _ if receives => Purpose::Receive,
                    Role::Send => Purpose::Send(u32::try_from(shape.peer).ok().map(|peer| (peer, shape.tag, shape.sent))),
                    _ => Purpose::Other,
                };
                own.persistent.push(Persistent { request: number, purpose, active: false });
            }
            Some((line, _)) => _ = self.posted.insert(*line, Posted::Request(RequestId { thread, number })),
            None if receives => remember(&mut own.unclaimed, number),
            None => remember(&mut own.outstanding, number),
        }
    }

    /// Starts a request for each message that the call sent or began to receive, or one for something else.
    fn start(&mut self, thread: u16, call: &Call, shape: &mut Shape) {
        shape.parts |= part::STARTED;
        let sends = call.sends.iter().map(|message| (Purpose::Send(Some((message.peer, message.tag, message.bytes))), None));
        let receives = call.receives.iter().map(|(line, _)| (Purpose::Receive, Some(*line)));
        let other = (call.sends.is_empty() && call.receives.is_empty()).then_some((Purpose::Other, None));
        let own = self.threads.entry(thread).or_default();
        for (purpose, line) in sends.chain(receives).chain(other) {
            let Some(persistent) = own.persistent.iter_mut().find(|persistent| !persistent.active && persistent.purpose == purpose) else {
                self.stray += u64::from(purpose != Purpose::Other);
                continue;
            };
            persistent.active = true;
            let number = persistent.request;
            shape.requests.push(own.listed(number));
            match line {
                Some(line) => _ = self.posted.insert(line, Posted::Request(RequestId { thread, number })),
                None => remember(&mut own.outstanding, number),
            }
        }
    }

    fn complete(&mut self, thread: u16, call: &Call, shape: &mut Shape) {
        for (line, message) in &call.completions {
            match self.receive(thread, *line, message) {
                Some(listed) => shape.requests.push(listed),
                None => self.stray += 1,
            }
        }
        self.complete_others(thread, call, shape);
        // In the order in which they were made, which is how most programs list them.
        shape.requests.sort_by_key(|listed| match listed.request {
            RequestRef::Ago(ago) => Reverse(ago),
            RequestRef::Of(..) => Reverse(0),
        });
    }

    /// The receive that is complete with this message: the one that began with it, or else the oldest one whose message is not known.
    fn receive(&mut self, thread: u16, line: u64, message: &Message) -> Option<ListedRequest> {
        let posted = self.posted.remove(&line);
        let own = self.threads.entry(thread).or_default();
        let request = match posted {
            Some(Posted::Request(request)) => request,
            _ => RequestId { thread, number: own.unclaimed.pop_front()? },
        };
        let reference = match request.thread == thread {
            true => own.reference(request.number),
            false => RequestRef::Of(request.thread, request.number),
        };
        self.threads.entry(request.thread).or_default().rest(request.number);
        let (peer, tag, received) = (message.peer as i32, message.tag, message.bytes);
        Some(ListedRequest { request: reference, receive: true, peer, tag, received })
    }

    /// Requests that are no receives: a wait for one waits for one of them if it is not for a receive, a wait for all waits for all. Tests
    /// are like waits, because Extrae does not write down those that fail.
    fn complete_others(&mut self, thread: u16, call: &Call, shape: &mut Shape) {
        let own = self.threads.entry(thread).or_default();
        let count = match call.role() {
            _ if shape.parts & part::FOUND_NOTHING != 0 => 0,
            Role::CompleteAll => own.outstanding.len(),
            _ if !shape.requests.is_empty() => 0,
            _ => own.outstanding.len().min(1),
        };
        for _ in 0..count {
            let Some(number) = own.outstanding.pop_front() else { return };
            shape.requests.push(own.listed(number));
            own.rest(number);
        }
    }
}
