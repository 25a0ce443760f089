//! Decodes the events within a call.
//!
//! Both directions use it. On import it produces the calls. On export it determines what a reader will get from the events alone, so that
//! attributes only need to express the rest; a round trip is lossless by construction.

use sintonia_mpi::{BlockingMode, FunctionId, FunctionRole};
use sintonia_otf2::code::CollectiveOp;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::raw::{self, RequestRef, part};

use crate::otf2::attributes::{CallAttributeList, unknown_request};
use crate::otf2::event::{MpiCollective, MpiEvent, MpiMessage};
use crate::otf2::id_translation::IdTranslation;

/// Identifies an operation that another call completes. Ids of messages, RMA operations and file accesses are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestHandle {
    /// A message or collective.
    Request(u64),
    /// An RMA operation.
    Transfer(u64),
    /// A file access.
    File(u64),
}

/// What the completing call adds to the call that started an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionOutcome {
    Received(MpiMessage),
    /// The completed collective.
    Collective(MpiCollective),
}

/// A call as far as its events express it.
#[derive(Debug)]
pub(super) struct DecodedCall {
    /// Everything except times.
    pub descriptor: CallDescriptor,
    pub created_request: Option<RequestHandle>,
    /// Outcomes of operations that earlier calls started.
    pub outcomes: Vec<(RequestHandle, CompletionOutcome)>,
    /// Messages of started requests that no known call created.
    pub unmatched_starts: Vec<(u64, Option<MpiMessage>)>,
}

/// Id translation and rank for decoding.
#[derive(Clone, Copy)]
pub(super) struct DecodeContext<'a> {
    /// Translates the trace's ids.
    pub ids: &'a IdTranslation,
    /// The process of the events.
    pub rank: i32,
}

impl DecodedCall {
    /// A call without events.
    pub(super) fn new(operation: FunctionId) -> DecodedCall {
        let descriptor = CallDescriptor { parts: default_parts(operation.role()), ..CallDescriptor::new(operation) };
        DecodedCall { descriptor, created_request: None, outcomes: Vec::new(), unmatched_starts: Vec::new() }
    }

    /// Applies an event. `resolve` finds the requests that calls created.
    pub(super) fn apply_event(
        &mut self,
        event: &MpiEvent,
        attributes: &CallAttributeList,
        context: DecodeContext,
        resolve: &mut impl FnMut(RequestHandle) -> Option<RequestRef>,
    ) {
        let DecodeContext { ids, rank } = context;
        match *event {
            MpiEvent::MpiSend(message, request) if !self.is_start() => {
                self.apply_send(message, context);
                self.set_request(request.map(RequestHandle::Request));
            }
            MpiEvent::MpiSend(message, Some(request)) => self.start_request(request, Some(message), attributes, resolve),
            MpiEvent::MpiIrecvRequest(request) if self.is_start() => self.start_request(request, None, attributes, resolve),
            MpiEvent::MpiIrecvRequest(request) | MpiEvent::NonBlockingCollectiveRequest(request) if !self.is_start() => {
                self.set_request(Some(RequestHandle::Request(request)))
            }
            MpiEvent::NonBlockingCollectiveRequest(request)
            | MpiEvent::MpiIsendComplete(request)
            | MpiEvent::MpiRequestCancelled(request) => {
                self.list_request(RequestHandle::Request(request), false, attributes, resolve);
            }
            MpiEvent::MpiRecv(message, None) => self.apply_receive(message, context),
            MpiEvent::MpiRecv(message, Some(request)) => {
                let actual = |listed: &mut ListedRequest| {
                    listed.peer = ids.peer(message.communicator, message.peer, rank);
                    (listed.tag, listed.received) = (message.tag as i32, message.bytes);
                };
                self.list_request_with(RequestHandle::Request(request), true, attributes, resolve, actual);
                self.outcomes.push((RequestHandle::Request(request), CompletionOutcome::Received(message)));
            }
            MpiEvent::MpiRequestTest(_) => self.descriptor.parts |= part::FLAG_FALSE,
            MpiEvent::MpiCollectiveEnd(collective) => self.apply_collective(collective, context),
            MpiEvent::NonBlockingCollectiveComplete(collective, request) => {
                self.list_request(RequestHandle::Request(request), false, attributes, resolve);
                self.outcomes.push((RequestHandle::Request(request), CompletionOutcome::Collective(collective)));
            }
            MpiEvent::CommCreate(made) | MpiEvent::CommDestroy(made) => self.descriptor.created = ids.communicator(made, rank),
            MpiEvent::ParameterUnsignedInt(_, request) => self.list_request(RequestHandle::Request(request), false, attributes, resolve),
            _ => self.apply_rma_or_io(event, attributes, context, resolve),
        }
    }

    /// Applies a window or file event.
    fn apply_rma_or_io(
        &mut self,
        event: &MpiEvent,
        attributes: &CallAttributeList,
        DecodeContext { ids, rank }: DecodeContext,
        resolve: &mut impl FnMut(RequestHandle) -> Option<RequestRef>,
    ) {
        match *event {
            MpiEvent::RmaWinCreate(window) => (self.descriptor.created, self.descriptor.object) = ids.object(&ids.windows, window, rank),
            MpiEvent::RmaWinDestroy(window) => self.descriptor.created = ids.target(window, 0, rank).0,
            MpiEvent::RmaCollectiveEnd { operation: CollectiveOp::BARRIER, window } => {
                self.descriptor.object = ids.target(window, 0, rank).0
            }
            MpiEvent::RmaReleaseLock(window, peer) | MpiEvent::RmaSync(window, peer) => {
                (self.descriptor.object, self.descriptor.peer) = ids.target(window, peer, rank);
            }
            MpiEvent::RmaRequestLock(window, peer, exclusive) => {
                (self.descriptor.object, self.descriptor.peer) = ids.target(window, peer, rank);
                if self.descriptor.function.name() == "MPI_Win_lock" {
                    self.set_value(if exclusive { raw::LOCK_EXCLUSIVE } else { raw::LOCK_SHARED });
                }
            }
            MpiEvent::RmaGroupSync(window, group) => {
                self.descriptor.object = ids.target(window, 0, rank).0;
                if let (Some(group), "MPI_Win_post" | "MPI_Win_start") = (ids.groups.get(group), self.descriptor.function.name()) {
                    self.set_value(*group as i32);
                }
            }
            MpiEvent::RmaTransfer { window, peer, sent, received, id, .. } => {
                (self.descriptor.object, self.descriptor.peer) = ids.target(window, peer, rank);
                (self.descriptor.sent, self.descriptor.received) = (sent, received);
                self.set_request(Some(RequestHandle::Transfer(id)));
            }
            MpiEvent::RmaOpCompleteNonBlocking(_, id) => self.list_request(RequestHandle::Transfer(id), false, attributes, resolve),
            MpiEvent::IoCreateHandle(file) if ids.files.get(file).is_some() => {
                (self.descriptor.created, self.descriptor.object) = ids.object(&ids.files, file, rank)
            }
            MpiEvent::IoDestroyHandle(file) if ids.files.get(file).is_some() => {
                self.descriptor.created = ids.object(&ids.files, file, rank).0
            }
            // MPI-IO may contain events of the underlying POSIX I/O.
            MpiEvent::IoOperationBegin(file, access, id) if ids.files.get(file).is_some() => {
                self.descriptor.object = ids.object(&ids.files, file, rank).0;
                *self.file_bytes(access.is_write) = access.bytes;
                self.set_request(Some(RequestHandle::File(id)));
            }
            MpiEvent::IoOperationComplete(file, bytes, id) if ids.files.get(file).is_some() => match self.descriptor.function.role() {
                FunctionRole::FileRead | FunctionRole::FileWrite => {
                    *self.file_bytes(self.descriptor.function.role() == FunctionRole::FileWrite) = bytes
                }
                _ => self.list_request(RequestHandle::File(id), false, attributes, resolve),
            },
            _ => {}
        }
    }

    fn is_start(&self) -> bool {
        matches!(self.descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll)
    }

    fn set_value(&mut self, value: i32) {
        self.descriptor.value = value;
        self.descriptor.parts |= part::VALUE;
    }

    fn file_bytes(&mut self, writes: bool) -> &mut u64 {
        if writes { &mut self.descriptor.sent } else { &mut self.descriptor.received }
    }

    fn apply_send(&mut self, message: MpiMessage, DecodeContext { ids, rank }: DecodeContext) {
        let descriptor = &mut self.descriptor;
        descriptor.object = ids.communicator(message.communicator, rank);
        descriptor.peer = ids.peer(message.communicator, message.peer, rank);
        (descriptor.tag, descriptor.sent) = (message.tag as i32, message.bytes);
    }

    fn apply_receive(&mut self, message: MpiMessage, DecodeContext { ids, rank }: DecodeContext) {
        let descriptor = &mut self.descriptor;
        let (peer, tag) = (ids.peer(message.communicator, message.peer, rank), message.tag as i32);
        descriptor.object = ids.communicator(message.communicator, rank);
        descriptor.received = message.bytes;
        if descriptor.function.role() == FunctionRole::SendReceive {
            (descriptor.source, descriptor.recv_tag) = (peer, tag);
        } else {
            (descriptor.peer, descriptor.tag) = (peer, tag);
        }
    }

    fn apply_collective(&mut self, collective: MpiCollective, DecodeContext { ids, rank }: DecodeContext) {
        let descriptor = &mut self.descriptor;
        descriptor.object = ids.communicator(collective.communicator, rank);
        if matches!(descriptor.function.role(), FunctionRole::Collective(_)) {
            descriptor.peer = ids.root(collective.communicator, collective.root, rank);
            (descriptor.sent, descriptor.received) = (collective.sent, collective.received);
        }
    }

    /// Sets the request of a nonblocking call.
    fn set_request(&mut self, handle: Option<RequestHandle>) {
        if handle.is_some() && self.descriptor.function.definition().mode == BlockingMode::Nonblocking {
            self.created_request = handle;
            self.descriptor.parts |= part::REQUEST;
        }
    }

    fn start_request(
        &mut self,
        request: u64,
        message: Option<MpiMessage>,
        attributes: &CallAttributeList,
        resolve: &mut impl FnMut(RequestHandle) -> Option<RequestRef>,
    ) {
        let listed = self.descriptor.requests.len();
        self.list_request(RequestHandle::Request(request), message.is_none(), attributes, resolve);
        if self.descriptor.requests.len() == listed {
            self.unmatched_starts.push((request, message));
        }
    }

    fn list_request(
        &mut self,
        handle: RequestHandle,
        receive: bool,
        attributes: &CallAttributeList,
        resolve: &mut impl FnMut(RequestHandle) -> Option<RequestRef>,
    ) {
        self.list_request_with(handle, receive, attributes, resolve, |_| {});
    }

    fn list_request_with(
        &mut self,
        handle: RequestHandle,
        receive: bool,
        attributes: &CallAttributeList,
        resolve: &mut impl FnMut(RequestHandle) -> Option<RequestRef>,
        actual: impl FnOnce(&mut ListedRequest),
    ) {
        let Some(request) = resolve(handle) else { return };
        let mut listed = unknown_request(request, receive);
        actual(&mut listed);
        attributes.apply_to_request(&mut listed);
        if self.is_start() {
            self.descriptor.parts |= part::STARTED;
        }
        self.descriptor.requests.push(listed);
    }
}

/// The parts that calls of a role have in a recording.
fn default_parts(role: FunctionRole) -> u16 {
    use part::{CREATED, OBJECT, RECEIVED, SENT, SOURCE, TAG};
    match role {
        FunctionRole::Send => OBJECT | TAG | SENT,
        FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::Probe | FunctionRole::MatchedProbe => OBJECT | TAG | RECEIVED,
        FunctionRole::SendReceive => OBJECT | TAG | SOURCE | SENT | RECEIVED,
        FunctionRole::Collective(_) | FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => OBJECT | SENT | RECEIVED,
        FunctionRole::CommunicatorCreate | FunctionRole::WindowCreate | FunctionRole::FileOpen => OBJECT | CREATED,
        FunctionRole::CommunicatorFree | FunctionRole::WindowFree | FunctionRole::FileClose => CREATED,
        FunctionRole::FileRead => OBJECT | RECEIVED,
        FunctionRole::FileWrite => OBJECT | SENT,
        FunctionRole::WindowSync | FunctionRole::FileOther => OBJECT,
        _ => 0,
    }
}

/// Applies the outcome of an operation to the call that started it.
pub(super) fn complete_call(descriptor: &mut CallDescriptor, outcome: CompletionOutcome, DecodeContext { ids, rank }: DecodeContext) {
    match outcome {
        CompletionOutcome::Received(message) => {
            descriptor.object = ids.communicator(message.communicator, rank);
            descriptor.peer = ids.peer(message.communicator, message.peer, rank);
            (descriptor.tag, descriptor.received) = (message.tag as i32, message.bytes);
        }
        CompletionOutcome::Collective(collective) => {
            descriptor.object = ids.communicator(collective.communicator, rank);
            descriptor.peer = ids.root(collective.communicator, collective.root, rank);
            (descriptor.sent, descriptor.received) = (collective.sent, collective.received);
        }
    }
}

/// Whether only the completion has the call's communicator.
pub(super) fn awaits_completion(descriptor: &CallDescriptor) -> bool {
    let waits = matches!(descriptor.function.role(), FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::Collective(_));
    waits && descriptor.makes_request() && descriptor.object == raw::NO_OBJECT
}
