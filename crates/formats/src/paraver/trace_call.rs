//! A call assembled from the records of a trace.

use std::collections::BTreeMap;

use sintonia_mpi::{BlockingMode, CollectiveOp, FunctionId, FunctionRole};
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw::{self, part};

use super::communicators::CommunicatorTable;
use super::event_types::{self, MpiEventType};
use super::sort_entry::TraceMessage;
use super::trace_scan::SentMessage;

/// A call in progress, or one that just ended.
pub(super) struct TraceCall {
    /// The function; `None` if it has no name.
    pub operation: Option<FunctionId>,
    pub event_type: MpiEventType,
    /// The line of its begin event.
    pub line: u64,
    /// When it began.
    pub enter: u64,
    /// When it ended; while in progress, when it began.
    pub leave: u64,
    /// Values of the other events, by type.
    pub details: BTreeMap<u64, u64>,
    /// The root of a rooted collective.
    pub root: Option<u32>,
    /// Messages it sent.
    pub sends: Vec<TraceMessage>,
    /// Receives it posted, with line numbers.
    pub receives: Vec<(u64, TraceMessage)>,
    /// Receives it completed, with line numbers.
    pub completions: Vec<(u64, TraceMessage)>,
}

/// The process that makes a call.
pub(super) struct CallingRank<'a> {
    pub rank: u32,
    pub application: usize,
    /// The communicators of the trace.
    pub communicators: &'a CommunicatorTable,
}

impl TraceCall {
    /// A call that begins now.
    pub(super) fn new(operation: Option<FunctionId>, event_type: MpiEventType, line: u64, now: u64) -> TraceCall {
        TraceCall {
            operation,
            event_type,
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

    pub(super) fn role(&self) -> FunctionRole {
        self.operation.map_or(FunctionRole::Local, FunctionId::role)
    }

    pub(super) fn mode(&self) -> BlockingMode {
        self.operation.map_or(BlockingMode::Blocking, |operation| operation.definition().mode)
    }

    /// Whether it can have sent a further message.
    pub(super) fn can_send(&self) -> bool {
        match self.role() {
            FunctionRole::Send | FunctionRole::SendReceive => self.sends.is_empty() && self.mode() != BlockingMode::Persistent,
            FunctionRole::Start => self.sends.is_empty() && self.receives.is_empty(),
            FunctionRole::StartAll => true,
            _ => false,
        }
    }

    /// Whether it can have posted a further receive.
    pub(super) fn can_receive(&self) -> bool {
        match self.role() {
            FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::SendReceive => {
                self.receives.is_empty() && self.mode() != BlockingMode::Persistent
            }
            FunctionRole::Start => self.sends.is_empty() && self.receives.is_empty(),
            FunctionRole::StartAll => true,
            _ => false,
        }
    }

    /// Whether it waits or tests for requests.
    pub(super) fn completes_requests(&self) -> bool {
        matches!(
            self.role(),
            FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome
        )
    }

    /// Whether it returns only on completion.
    pub(super) fn is_blocking(&self) -> bool {
        self.mode() == BlockingMode::Blocking && !matches!(self.role(), FunctionRole::Start | FunctionRole::StartAll)
    }

    /// Its callers, innermost first: values of function and line.
    pub(super) fn callers(&self) -> Vec<(u64, u64)> {
        let levels = self.details.range(event_types::CALLER..event_types::CALLER + event_types::MAX_CALLERS);
        levels
            .map(|(event, function)| (*function, self.detail(event - event_types::CALLER + event_types::CALLER_LINE).unwrap_or(0)))
            .collect()
    }

    /// Everything except its site and requests. What a persistent request sends is not recorded with the call that creates it.
    pub(super) fn to_descriptor(&self, operation: FunctionId, caller: &CallingRank, persistent: Option<SentMessage>) -> CallDescriptor {
        let mut descriptor = CallDescriptor::new(operation);
        let sent = self.sends.first().map(|message| (message.peer, message.tag, message.bytes));
        let received = self.receives.first().map(|(_, message)| *message);
        match operation.role() {
            FunctionRole::Send => apply_send(&mut descriptor, persistent.or(sent)),
            FunctionRole::Receive | FunctionRole::MatchedReceive => apply_receive(&mut descriptor, received, self.is_blocking()),
            FunctionRole::SendReceive => apply_send_receive(&mut descriptor, sent, received),
            FunctionRole::Probe | FunctionRole::MatchedProbe => {
                (descriptor.parts, descriptor.object, descriptor.peer, descriptor.tag) = (part::OBJECT | part::TAG, 0, raw::ANY, raw::ANY);
            }
            FunctionRole::Collective(pattern) => self.apply_collective(&mut descriptor, pattern, caller),
            role @ (FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange) => self.apply_one_sided(&mut descriptor, role),
            FunctionRole::FileRead => (descriptor.parts, descriptor.received) = (part::RECEIVED, self.file_bytes()),
            FunctionRole::FileWrite => (descriptor.parts, descriptor.sent) = (part::SENT, self.file_bytes()),
            FunctionRole::CommunicatorCreate | FunctionRole::CommunicatorFree => self.apply_created_communicator(&mut descriptor, caller),
            _ => {}
        }
        if let (0, Some(id)) = (descriptor.object, self.detail(event_types::COMMUNICATOR)) {
            descriptor.object = caller.communicators.index_of(caller.application, Some(id));
        }
        if self.detail(event_types::FOUND_NOTHING) == Some(1) {
            descriptor.parts |= part::FLAG_FALSE;
        }
        descriptor
    }

    fn detail(&self, event_type: u64) -> Option<u64> {
        self.details.get(&event_type).copied()
    }

    fn file_bytes(&self) -> u64 {
        self.detail(event_types::FILE_BYTES).unwrap_or(raw::UNKNOWN_BYTES)
    }

    fn apply_collective(&self, descriptor: &mut CallDescriptor, pattern: CollectiveOp, caller: &CallingRank) {
        descriptor.parts = part::OBJECT | part::SENT | part::RECEIVED;
        descriptor.object = caller.communicators.index_of(caller.application, self.detail(event_types::COLLECTIVE_COMMUNICATOR));
        descriptor.peer = self.root.map_or(raw::NONE, |root| root as i32);
        let bytes = |event_type| self.detail(event_type).unwrap_or(0);
        (descriptor.sent, descriptor.received) = (bytes(event_types::COLLECTIVE_SENT), bytes(event_types::COLLECTIVE_RECEIVED));
        // Extrae records the bytes to one process for an alltoall, and only the received bytes at the root of a reduction.
        let (peers, between) = caller.communicators.peer_count(descriptor.object);
        match pattern {
            CollectiveOp::Alltoall => descriptor.sent = descriptor.sent.saturating_mul(peers as u64),
            CollectiveOp::Reduce if !between && self.root == Some(caller.rank) => descriptor.sent = descriptor.received,
            _ => {}
        }
    }

    fn apply_one_sided(&self, descriptor: &mut CallDescriptor, role: FunctionRole) {
        descriptor.parts = part::OBJECT | part::SENT | part::RECEIVED;
        descriptor.peer = self.detail(event_types::ONE_SIDED_TARGET).and_then(|target| i32::try_from(target).ok()).unwrap_or(raw::NONE);
        let bytes = self.detail(event_types::ONE_SIDED_BYTES).unwrap_or(0);
        (descriptor.sent, descriptor.received) = match role {
            FunctionRole::Put => (bytes, 0),
            FunctionRole::Get => (0, bytes),
            _ => (bytes, bytes),
        };
    }

    fn apply_created_communicator(&self, descriptor: &mut CallDescriptor, caller: &CallingRank) {
        let index = |event_type| self.detail(event_type).map(|id| caller.communicators.index_of(caller.application, Some(id)));
        if let Some(parent) = index(event_types::COMMUNICATOR) {
            (descriptor.parts, descriptor.object) = (descriptor.parts | part::OBJECT, parent);
        }
        if let Some(created) = index(event_types::COMMUNICATOR_CREATED) {
            (descriptor.parts, descriptor.created) = (descriptor.parts | part::CREATED, created);
        }
    }
}

fn apply_send(descriptor: &mut CallDescriptor, message: Option<SentMessage>) {
    descriptor.parts = part::OBJECT | part::TAG | part::SENT;
    (descriptor.object, descriptor.sent) = (0, raw::UNKNOWN_BYTES);
    if let Some((peer, tag, bytes)) = message {
        (descriptor.peer, descriptor.tag, descriptor.sent) = (peer as i32, tag, bytes);
    }
}

fn apply_receive(descriptor: &mut CallDescriptor, message: Option<TraceMessage>, waits: bool) {
    descriptor.parts = part::OBJECT | part::TAG | part::RECEIVED;
    let unknown = if waits { raw::NONE } else { raw::ANY };
    (descriptor.object, descriptor.peer, descriptor.tag, descriptor.received) = (0, unknown, unknown, raw::UNKNOWN_BYTES);
    if let Some(message) = message {
        (descriptor.peer, descriptor.tag, descriptor.received) = (message.peer as i32, message.tag, message.bytes);
    }
}

fn apply_send_receive(descriptor: &mut CallDescriptor, sent: Option<SentMessage>, received: Option<TraceMessage>) {
    apply_send(descriptor, sent);
    descriptor.parts |= part::SOURCE | part::RECEIVED;
    descriptor.received = raw::UNKNOWN_BYTES;
    if let Some(message) = received {
        (descriptor.source, descriptor.recv_tag, descriptor.received) = (message.peer as i32, message.tag, message.bytes);
    }
}
