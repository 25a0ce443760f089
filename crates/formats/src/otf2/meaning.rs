//! What the events within a call say of it.
//!
//! One place knows this for both ways. Reading a trace, it is where calls come from. Writing one, it says what a reader will know from
//! the events alone, so that attributes need to tell only the rest; a recording that goes out and comes back is the same by construction.

use sintonia_mpi::{Mode, Operation, Role};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::table::{ListedRequest, Shape};

use crate::otf2::attributes::{Attributes, listed};
use crate::otf2::event::{Collective, Event, Message, group};
use crate::otf2::terms::Terms;

/// What names an operation that another call completes. The numbers of messages, of one-sided transfers and of access to files are given
/// independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// Of messages and operations of a group.
    Request(u64),
    /// Of one-sided transfers.
    Transfer(u64),
    /// Of access to files.
    File(u64),
}

/// What a call that completes an operation says of it that the call which began it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A message was received.
    Received(Message),
    /// A group did this.
    Done(Collective),
}

/// A call as far as its events tell.
#[derive(Debug)]
pub struct Told {
    /// Everything about it except when.
    pub shape: Shape,
    /// What names the request it made.
    pub made: Option<Handle>,
    /// What became of operations that earlier calls began.
    pub outcomes: Vec<(Handle, Outcome)>,
    /// Messages begun by starting requests that no call is known to have made.
    pub begun: Vec<(u64, Option<Message>)>,
}

/// Who tells: in which terms, and which process it is.
#[derive(Clone, Copy)]
pub struct Teller<'a> {
    /// What the numbers of the trace are.
    pub terms: &'a Terms,
    /// The process whose events they are.
    pub me: i32,
}

impl Told {
    /// A call of which no event was seen.
    pub fn of(operation: Operation) -> Told {
        let shape = Shape { parts: usual_parts(operation.role()), ..Shape::of(operation) };
        Told { shape, made: None, outcomes: Vec::new(), begun: Vec::new() }
    }

    /// Adds what an event says. `resolve` knows the requests that calls made.
    pub fn add(&mut self, event: &Event, attributes: &Attributes, teller: Teller, resolve: &mut impl FnMut(Handle) -> Option<RequestRef>) {
        let Teller { terms, me } = teller;
        match *event {
            Event::Send(message, request) if !self.starts() => {
                self.sent(message, teller);
                self.make(request.map(Handle::Request));
            }
            Event::Send(message, Some(request)) => self.start(request, Some(message), attributes, resolve),
            Event::Post(request) if self.starts() => self.start(request, None, attributes, resolve),
            Event::Post(request) | Event::CollectivePost(request) if !self.starts() => self.make(Some(Handle::Request(request))),
            Event::CollectivePost(request) | Event::SendComplete(request) | Event::Cancelled(request) => {
                self.list(Handle::Request(request), false, attributes, resolve);
            }
            Event::Receive(message, None) => self.received(message, teller),
            Event::Receive(message, Some(request)) => {
                let actual = |listed: &mut ListedRequest| {
                    listed.peer = terms.peer(message.communicator, message.peer, me);
                    (listed.tag, listed.received) = (message.tag as i32, message.bytes);
                };
                self.list_with(Handle::Request(request), true, attributes, resolve, actual);
                self.outcomes.push((Handle::Request(request), Outcome::Received(message)));
            }
            Event::Test(_) => self.shape.parts |= part::FOUND_NOTHING,
            Event::CollectiveEnd(collective) => self.joined(collective, teller),
            Event::CollectiveComplete(collective, request) => {
                self.list(Handle::Request(request), false, attributes, resolve);
                self.outcomes.push((Handle::Request(request), Outcome::Done(collective)));
            }
            Event::CommunicatorCreate(made) | Event::CommunicatorDestroy(made) => self.shape.made = terms.communicator(made, me),
            Event::Parameter(_, request) => self.list(Handle::Request(request), false, attributes, resolve),
            _ => self.add_memory(event, attributes, teller, resolve),
        }
    }

    /// Adds what an event says of windows and files.
    fn add_memory(
        &mut self,
        event: &Event,
        attributes: &Attributes,
        Teller { terms, me }: Teller,
        resolve: &mut impl FnMut(Handle) -> Option<RequestRef>,
    ) {
        match *event {
            Event::WindowCreate(window) => (self.shape.made, self.shape.object) = terms.object(&terms.windows, window, me),
            Event::WindowDestroy(window) => self.shape.made = terms.target(window, 0, me).0,
            Event::WindowCollectiveEnd { operation: group::BARRIER, window } => self.shape.object = terms.target(window, 0, me).0,
            Event::WindowUnlock(window, peer) | Event::WindowSync(window, peer) => {
                (self.shape.object, self.shape.peer) = terms.target(window, peer, me);
            }
            Event::WindowLock(window, peer, exclusive) => {
                (self.shape.object, self.shape.peer) = terms.target(window, peer, me);
                if self.shape.operation.name() == "MPI_Win_lock" {
                    self.value(if exclusive { raw::LOCK_EXCLUSIVE } else { raw::LOCK_SHARED });
                }
            }
            Event::WindowGroupSync(window, group) => {
                self.shape.object = terms.target(window, 0, me).0;
                if let (Some(group), "MPI_Win_post" | "MPI_Win_start") = (terms.groups.get(group), self.shape.operation.name()) {
                    self.value(*group as i32);
                }
            }
            Event::Transfer { window, peer, sent, received, id, .. } => {
                (self.shape.object, self.shape.peer) = terms.target(window, peer, me);
                (self.shape.sent, self.shape.received) = (sent, received);
                self.make(Some(Handle::Transfer(id)));
            }
            Event::TransferComplete(_, id) => self.list(Handle::Transfer(id), false, attributes, resolve),
            Event::FileOpen(file) if terms.files.get(file).is_some() => {
                (self.shape.made, self.shape.object) = terms.object(&terms.files, file, me)
            }
            Event::FileClose(file) if terms.files.get(file).is_some() => self.shape.made = terms.object(&terms.files, file, me).0,
            // Inside MPI's access to a file, the system's access to it may have been seen too.
            Event::FileBegin(file, access, id) if terms.files.get(file).is_some() => {
                self.shape.object = terms.object(&terms.files, file, me).0;
                *self.file_bytes(access.writes) = access.bytes;
                self.make(Some(Handle::File(id)));
            }
            Event::FileComplete(file, bytes, id) if terms.files.get(file).is_some() => match self.shape.operation.role() {
                Role::FileRead | Role::FileWrite => *self.file_bytes(self.shape.operation.role() == Role::FileWrite) = bytes,
                _ => self.list(Handle::File(id), false, attributes, resolve),
            },
            _ => {}
        }
    }

    fn starts(&self) -> bool {
        matches!(self.shape.operation.role(), Role::Start | Role::StartAll)
    }

    fn value(&mut self, value: i32) {
        self.shape.value = value;
        self.shape.parts |= part::VALUE;
    }

    fn file_bytes(&mut self, writes: bool) -> &mut u64 {
        if writes { &mut self.shape.sent } else { &mut self.shape.received }
    }

    fn sent(&mut self, message: Message, Teller { terms, me }: Teller) {
        let shape = &mut self.shape;
        shape.object = terms.communicator(message.communicator, me);
        shape.peer = terms.peer(message.communicator, message.peer, me);
        (shape.tag, shape.sent) = (message.tag as i32, message.bytes);
    }

    fn received(&mut self, message: Message, Teller { terms, me }: Teller) {
        let shape = &mut self.shape;
        let (peer, tag) = (terms.peer(message.communicator, message.peer, me), message.tag as i32);
        shape.object = terms.communicator(message.communicator, me);
        shape.received = message.bytes;
        if shape.operation.role() == Role::SendReceive {
            (shape.source, shape.recv_tag) = (peer, tag);
        } else {
            (shape.peer, shape.tag) = (peer, tag);
        }
    }

    fn joined(&mut self, collective: Collective, Teller { terms, me }: Teller) {
        let shape = &mut self.shape;
        shape.object = terms.communicator(collective.communicator, me);
        if matches!(shape.operation.role(), Role::Collective(_)) {
            shape.peer = terms.root(collective.communicator, collective.root, me);
            (shape.sent, shape.received) = (collective.sent, collective.received);
        }
    }

    /// The call made a request, if it is one of those that do.
    fn make(&mut self, handle: Option<Handle>) {
        if handle.is_some() && self.shape.operation.function().mode == Mode::Nonblocking {
            self.made = handle;
            self.shape.parts |= part::REQUEST;
        }
    }

    fn start(
        &mut self,
        request: u64,
        message: Option<Message>,
        attributes: &Attributes,
        resolve: &mut impl FnMut(Handle) -> Option<RequestRef>,
    ) {
        let listed = self.shape.requests.len();
        self.list(Handle::Request(request), message.is_none(), attributes, resolve);
        if self.shape.requests.len() == listed {
            self.begun.push((request, message));
        }
    }

    fn list(&mut self, handle: Handle, receive: bool, attributes: &Attributes, resolve: &mut impl FnMut(Handle) -> Option<RequestRef>) {
        self.list_with(handle, receive, attributes, resolve, |_| {});
    }

    fn list_with(
        &mut self,
        handle: Handle,
        receive: bool,
        attributes: &Attributes,
        resolve: &mut impl FnMut(Handle) -> Option<RequestRef>,
        actual: impl FnOnce(&mut ListedRequest),
    ) {
        let Some(request) = resolve(handle) else { return };
        let mut listed = listed(request, receive);
        actual(&mut listed);
        attributes.complete_listed(&mut listed);
        if self.starts() {
            self.shape.parts |= part::STARTED;
        }
        self.shape.requests.push(listed);
    }
}

/// The parts that calls of a role have in a recording.
fn usual_parts(role: Role) -> u16 {
    use part::{MADE, OBJECT, RECEIVED, SENT, SOURCE, TAG};
    match role {
        Role::Send => OBJECT | TAG | SENT,
        Role::Receive | Role::MatchedReceive | Role::Probe | Role::MatchedProbe => OBJECT | TAG | RECEIVED,
        Role::SendReceive => OBJECT | TAG | SOURCE | SENT | RECEIVED,
        Role::Collective(_) | Role::Put | Role::Get | Role::Exchange => OBJECT | SENT | RECEIVED,
        Role::CommunicatorCreate | Role::WindowCreate | Role::FileOpen => OBJECT | MADE,
        Role::CommunicatorFree | Role::WindowFree | Role::FileClose => MADE,
        Role::FileRead => OBJECT | RECEIVED,
        Role::FileWrite => OBJECT | SENT,
        Role::WindowSync | Role::FileOther => OBJECT,
        _ => 0,
    }
}

/// What became of an operation, told to the call that began it.
pub fn settle(shape: &mut Shape, outcome: Outcome, Teller { terms, me }: Teller) {
    match outcome {
        Outcome::Received(message) => {
            shape.object = terms.communicator(message.communicator, me);
            shape.peer = terms.peer(message.communicator, message.peer, me);
            (shape.tag, shape.received) = (message.tag as i32, message.bytes);
        }
        Outcome::Done(collective) => {
            shape.object = terms.communicator(collective.communicator, me);
            shape.peer = terms.root(collective.communicator, collective.root, me);
            (shape.sent, shape.received) = (collective.sent, collective.received);
        }
    }
}

/// Whether a call began something whose communicator only its completion tells.
pub fn is_open(shape: &Shape) -> bool {
    let waits = matches!(shape.operation.role(), Role::Receive | Role::MatchedReceive | Role::Collective(_));
    waits && shape.makes_request() && shape.object == raw::NO_OBJECT
}
