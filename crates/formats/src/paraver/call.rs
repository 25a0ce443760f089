//! A call as a trace tells it, piece by piece, and what it comes to.

use std::collections::BTreeMap;

use sintonia_mpi::{Mode, Operation, Pattern, Role};
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::Shape;

use super::communicators::Communicators;
use super::entry::Message;
use super::events::{self, Group};
use super::survey::Sent;

/// A call under way, or one that just ended.
pub struct Call {
    /// The function; `None` if it has no name.
    pub operation: Option<Operation>,
    /// Which type of event it has.
    pub group: Group,
    /// The line on which it began.
    pub line: u64,
    /// When it began.
    pub enter: u64,
    /// When it ended; while it is under way, when it began.
    pub leave: u64,
    /// What else the events said of it: values by type.
    pub details: BTreeMap<u64, u64>,
    /// The root, of a collective call that has one.
    pub root: Option<u32>,
    /// Messages that it sent.
    pub sends: Vec<Message>,
    /// Messages that it began to receive, with their lines.
    pub receives: Vec<(u64, Message)>,
    /// Messages that it waited for, with their lines.
    pub completions: Vec<(u64, Message)>,
}

/// Which process a call is of.
pub struct Caller<'a> {
    /// Its rank.
    pub rank: u32,
    /// Its application.
    pub application: usize,
    /// The communicators of the trace.
    pub communicators: &'a Communicators,
}

impl Call {
    /// One that begins now.
    pub fn begin(operation: Option<Operation>, group: Group, line: u64, now: u64) -> Call {
        Call {
            operation,
            group,
            line,
            enter: now,
            leave: now,
            details: BTreeMap::new(),
            root: None,
            sends: Vec::new(),
            receives: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// What it does.
    pub fn role(&self) -> Role {
        self.operation.map_or(Role::Local, Operation::role)
    }

    /// When that is complete.
    pub fn mode(&self) -> Mode {
        self.operation.map_or(Mode::Blocking, |operation| operation.function().mode)
    }

    /// Whether a message can have been sent by it.
    pub fn takes_send(&self) -> bool {
        match self.role() {
            Role::Send | Role::SendReceive => self.sends.is_empty() && self.mode() != Mode::Persistent,
            Role::Start => self.sends.is_empty() && self.receives.is_empty(),
            Role::StartAll => true,
            _ => false,
        }
    }

    /// Whether it can have begun to receive a message.
    pub fn takes_receive(&self) -> bool {
        match self.role() {
            Role::Receive | Role::MatchedReceive | Role::SendReceive => self.receives.is_empty() && self.mode() != Mode::Persistent,
            Role::Start => self.sends.is_empty() && self.receives.is_empty(),
            Role::StartAll => true,
            _ => false,
        }
    }

    /// Whether it waits or tests for requests.
    pub fn completes(&self) -> bool {
        matches!(self.role(), Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome)
    }

    /// Whether it returns only when what it does is complete.
    pub fn waits(&self) -> bool {
        self.mode() == Mode::Blocking && !matches!(self.role(), Role::Start | Role::StartAll)
    }

    /// Its callers, the innermost first: each the values of its function and its line.
    pub fn callers(&self) -> Vec<(u64, u64)> {
        let levels = self.details.range(events::CALLER..events::CALLER + events::MOST_CALLERS);
        levels.map(|(event, function)| (*function, self.detail(event - events::CALLER + events::CALLER_LINE).unwrap_or(0))).collect()
    }

    /// Everything about it but its site and its requests. What a persistent request sends is not told by the call that makes it.
    pub fn shape(&self, operation: Operation, caller: &Caller, persistent: Option<Sent>) -> Shape {
        let mut shape = Shape::of(operation);
        let sent = self.sends.first().map(|message| (message.peer, message.tag, message.bytes));
        let received = self.receives.first().map(|(_, message)| *message);
        match operation.role() {
            Role::Send => sends(&mut shape, persistent.or(sent)),
            Role::Receive | Role::MatchedReceive => receives(&mut shape, received, self.waits()),
            Role::SendReceive => exchanges(&mut shape, sent, received),
            Role::Probe | Role::MatchedProbe => {
                (shape.parts, shape.object, shape.peer, shape.tag) = (part::OBJECT | part::TAG, 0, raw::ANY, raw::ANY);
            }
            Role::Collective(pattern) => self.collective(&mut shape, pattern, caller),
            role @ (Role::Put | Role::Get | Role::Exchange) => self.one_sided(&mut shape, role),
            Role::FileRead => (shape.parts, shape.received) = (part::RECEIVED, self.file_bytes()),
            Role::FileWrite => (shape.parts, shape.sent) = (part::SENT, self.file_bytes()),
            Role::CommunicatorCreate | Role::CommunicatorFree => self.communicator_made(&mut shape, caller),
            _ => {}
        }
        if let (0, Some(id)) = (shape.object, self.detail(events::COMMUNICATOR)) {
            shape.object = caller.communicators.place(caller.application, Some(id));
        }
        if self.detail(events::FOUND_NOTHING) == Some(1) {
            shape.parts |= part::FOUND_NOTHING;
        }
        shape
    }

    fn detail(&self, event_type: u64) -> Option<u64> {
        self.details.get(&event_type).copied()
    }

    fn file_bytes(&self) -> u64 {
        self.detail(events::FILE_BYTES).unwrap_or(raw::UNKNOWN_BYTES)
    }

    fn collective(&self, shape: &mut Shape, pattern: Pattern, caller: &Caller) {
        shape.parts = part::OBJECT | part::SENT | part::RECEIVED;
        shape.object = caller.communicators.place(caller.application, self.detail(events::COLLECTIVE_COMMUNICATOR));
        shape.peer = self.root.map_or(raw::NONE, |root| root as i32);
        let bytes = |event_type| self.detail(event_type).unwrap_or(0);
        (shape.sent, shape.received) = (bytes(events::COLLECTIVE_SENT), bytes(events::COLLECTIVE_RECEIVED));
        // Extrae tells of an all-to-all what goes to one process, and of the root of a reduction only what it gets.
        let (peers, between) = caller.communicators.peers(shape.object);
        match pattern {
            Pattern::Alltoall => shape.sent = shape.sent.saturating_mul(peers as u64),
            Pattern::Reduce if !between && self.root == Some(caller.rank) => shape.sent = shape.received,
            _ => {}
        }
    }

    fn one_sided(&self, shape: &mut Shape, role: Role) {
        shape.parts = part::OBJECT | part::SENT | part::RECEIVED;
        shape.peer = self.detail(events::ONE_SIDED_TARGET).and_then(|target| i32::try_from(target).ok()).unwrap_or(raw::NONE);
        let bytes = self.detail(events::ONE_SIDED_BYTES).unwrap_or(0);
        (shape.sent, shape.received) = match role {
            Role::Put => (bytes, 0),
            Role::Get => (0, bytes),
            _ => (bytes, bytes),
        };
    }

    fn communicator_made(&self, shape: &mut Shape, caller: &Caller) {
        let place = |event_type| self.detail(event_type).map(|id| caller.communicators.place(caller.application, Some(id)));
        if let Some(parent) = place(events::COMMUNICATOR) {
            (shape.parts, shape.object) = (shape.parts | part::OBJECT, parent);
        }
        if let Some(made) = place(events::COMMUNICATOR_MADE) {
            (shape.parts, shape.made) = (shape.parts | part::MADE, made);
        }
    }
}

fn sends(shape: &mut Shape, message: Option<Sent>) {
    shape.parts = part::OBJECT | part::TAG | part::SENT;
    (shape.object, shape.sent) = (0, raw::UNKNOWN_BYTES);
    if let Some((peer, tag, bytes)) = message {
        (shape.peer, shape.tag, shape.sent) = (peer as i32, tag, bytes);
    }
}

fn receives(shape: &mut Shape, message: Option<Message>, waits: bool) {
    shape.parts = part::OBJECT | part::TAG | part::RECEIVED;
    let unknown = if waits { raw::NONE } else { raw::ANY };
    (shape.object, shape.peer, shape.tag, shape.received) = (0, unknown, unknown, raw::UNKNOWN_BYTES);
    if let Some(message) = message {
        (shape.peer, shape.tag, shape.received) = (message.peer as i32, message.tag, message.bytes);
    }
}

fn exchanges(shape: &mut Shape, sent: Option<Sent>, received: Option<Message>) {
    sends(shape, sent);
    shape.parts |= part::SOURCE | part::RECEIVED;
    shape.received = raw::UNKNOWN_BYTES;
    if let Some(message) = received {
        (shape.source, shape.recv_tag, shape.received) = (message.peer as i32, message.tag, message.bytes);
    }
}
