//! The MPI operations of a process as events.
//!
//! A call that completes a request does not say what the request was for, but its event must; so the operations in progress are remembered.

use std::collections::HashMap;

use sintonia_mpi::{BlockingMode, CollectiveOp, FunctionId, FunctionRole};
use sintonia_otf2::{NO_ROOT, ROOT_SELF, ROOT_THIS_GROUP, code};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest, RecordedCall, RequestId};
use sintonia_recording::raw::{self, RequestRef, bytes_or_zero, part};
use sintonia_recording::request_table::RequestTable;

use crate::otf2::attributes::{CallAttributeList, unknown_request};
use crate::otf2::decoded_call::{DecodeContext, DecodedCall};
use crate::otf2::event::{MpiCollective, MpiEvent, MpiMessage};
use crate::otf2::write::comm_ranks::CommRankMap;
use crate::otf2::write::definitions;

/// Operations without an OTF2 event.
#[derive(Default)]
pub(super) struct UnmappedOperations {
    /// Window synchronisation with an unrecorded group.
    pub(super) partial_syncs: bool,
    /// Neighbourhood collectives.
    neighbourhoods: bool,
}

impl UnmappedOperations {
    /// One sentence each.
    pub(super) fn notes<'a>(all: impl Iterator<Item = &'a UnmappedOperations>) -> Vec<String> {
        let (syncs, neighbours) =
            all.fold((false, false), |(syncs, neighbours), one| (syncs | one.partial_syncs, neighbours | one.neighbourhoods));
        let syncs = syncs.then_some(
            "other tools see calls that synchronise a window with a group of its processes (MPI_Win_post, _start, _complete, _wait, _test) \
             as regions only, because this recording does not have the group",
        );
        let neighbours = neighbours.then_some("other tools see neighbourhood collectives as regions only: OTF2 has no event for them");
        syncs.into_iter().chain(neighbours).map(str::to_owned).collect()
    }
}

/// An operation that another call completes.
#[derive(Clone, Copy)]
pub(super) enum RequestKind {
    Send(MpiMessage),
    Receive(u32),
    Collective(MpiCollective),
    Transfer(u32, u64),
    File(u32, u64, u64),
    /// Without an OTF2 event.
    Other,
}

/// The events within a call, with attributes, at its enter and at its leave time.
#[derive(Default)]
pub(super) struct CallEvents {
    pub at_enter: Vec<(MpiEvent, CallAttributeList)>,
    pub at_leave: Vec<(MpiEvent, CallAttributeList)>,
}

impl CallEvents {
    pub(super) fn clear(&mut self) {
        self.at_enter.clear();
        self.at_leave.clear();
    }

    /// Adds an event at enter, if there is one.
    pub(super) fn push_at_enter(&mut self, event: impl Into<Option<MpiEvent>>) {
        self.at_enter.extend(event.into().map(|event| (event, CallAttributeList::default())));
    }

    /// Adds an event at leave, if there is one.
    pub(super) fn push_at_leave(&mut self, event: impl Into<Option<MpiEvent>>) {
        self.at_leave.extend(event.into().map(|event| (event, CallAttributeList::default())));
    }
}

/// Builds the events of a process.
pub(super) struct EventBuilder<'a> {
    /// Rank translation.
    pub comm_ranks: &'a CommRankMap,
    pub rank: i32,
    open_requests: RequestTable<RequestId, RequestKind>,
    /// RMA operations not yet completed by a synchronisation: window, target, id.
    pub(super) transfers: Vec<(u32, i32, u64)>,
    /// Groups of open epochs, by window and opening function.
    pub(super) epochs: HashMap<(u32, FunctionId), u32>,
    next_id: u64,
    /// What OTF2 cannot express.
    pub unmapped: UnmappedOperations,
}

impl<'a> EventBuilder<'a> {
    pub(super) fn new(comm_ranks: &'a CommRankMap, rank: u32) -> EventBuilder<'a> {
        EventBuilder {
            comm_ranks,
            rank: rank as i32,
            open_requests: RequestTable::default(),
            transfers: Vec::new(),
            epochs: HashMap::new(),
            next_id: 0,
            unmapped: UnmappedOperations::default(),
        }
    }

    /// The matching id of the next RMA or file operation.
    pub(super) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The context in which a reader decodes the events.
    pub(super) fn decode_context(&self) -> DecodeContext<'a> {
        DecodeContext { ids: &self.comm_ranks.ids, rank: self.rank }
    }

    /// Builds the events of a call, and remembers what later calls complete.
    pub(super) fn build_events(&mut self, call: &RecordedCall, events: &mut CallEvents) {
        let (descriptor, function) = (call.descriptor, call.descriptor.function.definition());
        match function.role {
            FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
                for (request, listed) in call.requests() {
                    let event = self.complete(request, listed);
                    events.at_leave.push(self.request_event(event, call, request, listed));
                }
            }
            FunctionRole::Start | FunctionRole::StartAll => {
                for (request, listed) in call.requests() {
                    let event = self.start(request);
                    events.at_enter.push(self.request_event(event, call, request, listed));
                }
            }
            _ if descriptor.parts & part::ERROR != 0 => self.list_requests(call, events),
            _ => {
                let kind = self.begin_operation(call, events);
                if function.mode == BlockingMode::Blocking && descriptor.parts & part::UNFINISHED != 0 {
                    // A blocking call that did not return has no effects.
                    events.at_leave.clear();
                }
                self.remember_request(call, kind);
                self.list_requests(call, events);
            }
        }
    }

    fn remember_request(&mut self, call: &RecordedCall, kind: RequestKind) {
        let Some(request) = call.request else { return };
        let mode = call.descriptor.function.definition().mode;
        let kind = if mode == BlockingMode::Blocking { RequestKind::Other } else { kind };
        self.open_requests.create(request, mode, kind);
    }

    /// Lists the requests of a call that neither completes nor starts them.
    fn list_requests(&mut self, call: &RecordedCall, events: &mut CallEvents) {
        if call.descriptor.function.role() == FunctionRole::RequestFree {
            call.requests().for_each(|(request, _)| _ = self.open_requests.remove(&request));
        }
        events.at_leave.extend(call.requests().map(|(request, listed)| self.request_event(None, call, request, listed)));
    }

    /// The events of a self-contained call, and the operation it leaves open.
    fn begin_operation(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        match descriptor.function.role() {
            FunctionRole::Send => self.send(call, events),
            FunctionRole::Receive | FunctionRole::MatchedReceive => self.receive(call, events),
            FunctionRole::SendReceive => self.send_receive(call, events),
            FunctionRole::Collective(pattern) => self.collective(call, pattern, events),
            FunctionRole::CommunicatorCreate => self.create_communicator(call, events),
            FunctionRole::CommunicatorFree => {
                events.push_at_leave(self.comm_id(descriptor.created).map(MpiEvent::CommDestroy));
                RequestKind::Other
            }
            FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => self.rma_transfer(call, events),
            FunctionRole::WindowCreate | FunctionRole::WindowFree => {
                self.create_or_free_window(descriptor, events);
                RequestKind::Other
            }
            FunctionRole::WindowSync => {
                self.synchronise_window(descriptor, events);
                RequestKind::Other
            }
            FunctionRole::FileOpen | FunctionRole::FileClose | FunctionRole::FileRead | FunctionRole::FileWrite => {
                self.file_operation(call, events)
            }
            _ => RequestKind::Other,
        }
    }

    fn comm_id(&self, number: u32) -> Option<u32> {
        self.comm_ranks.communicator(number)
    }

    /// A message in OTF2's terms; `None` if it has no peer there.
    fn message(&self, communicator: u32, peer: i32, tag: i32, bytes: u64) -> Option<MpiMessage> {
        let peer = self.comm_ranks.peer(communicator, peer, self.rank)?;
        Some(MpiMessage { peer, communicator, tag: u32::try_from(tag).ok()?, bytes: bytes_or_zero(bytes) })
    }

    fn send(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        let Some(message) = self.message(descriptor.object, descriptor.peer, descriptor.tag, descriptor.sent) else {
            return RequestKind::Other;
        };
        match descriptor.function.definition().mode {
            BlockingMode::Blocking => events.push_at_enter(MpiEvent::MpiSend(message, None)),
            BlockingMode::Nonblocking => {
                events.push_at_enter(call.request.map(|request| MpiEvent::MpiSend(message, Some(request_id(request)))))
            }
            BlockingMode::Persistent => {}
        }
        RequestKind::Send(message)
    }

    fn receive(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        if descriptor.function.definition().mode == BlockingMode::Blocking {
            let message = self.message(descriptor.object, descriptor.peer, descriptor.tag, descriptor.received);
            events.push_at_leave(message.map(|message| MpiEvent::MpiRecv(message, None)));
            return RequestKind::Other;
        }
        let Some(communicator) = self.comm_id(descriptor.object).filter(|_| descriptor.peer != raw::PROC_NULL) else {
            return RequestKind::Other;
        };
        if descriptor.function.definition().mode == BlockingMode::Nonblocking {
            events.push_at_enter(call.request.map(|request| MpiEvent::MpiIrecvRequest(request_id(request))));
        }
        RequestKind::Receive(communicator)
    }

    fn send_receive(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        let send = self.message(descriptor.object, descriptor.peer, descriptor.tag, descriptor.sent);
        events.push_at_enter(send.map(|message| MpiEvent::MpiSend(message, None)));
        if descriptor.function.definition().mode == BlockingMode::Blocking {
            let receive = self.message(descriptor.object, descriptor.source, descriptor.recv_tag, descriptor.received);
            events.push_at_leave(receive.map(|message| MpiEvent::MpiRecv(message, None)));
            return RequestKind::Other;
        }
        let communicator = self.comm_id(descriptor.object).filter(|_| descriptor.source != raw::PROC_NULL);
        events.push_at_enter(call.request.filter(|_| communicator.is_some()).map(|request| MpiEvent::MpiIrecvRequest(request_id(request))));
        communicator.map_or(RequestKind::Other, RequestKind::Receive)
    }

    fn collective(&mut self, call: &RecordedCall, pattern: CollectiveOp, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        let Some(operation) = collective_op_code(pattern) else {
            self.unmapped.neighbourhoods = true;
            return RequestKind::Other;
        };
        let Some((communicator, root)) = self.comm_id(descriptor.object).zip(self.root(descriptor)) else { return RequestKind::Other };
        let collective =
            MpiCollective { operation, communicator, root, sent: descriptor.bytes_sent(), received: bytes_or_zero(descriptor.received) };
        self.push_collective(call, collective, events);
        RequestKind::Collective(collective)
    }

    /// The events of a collective.
    fn push_collective(&self, call: &RecordedCall, collective: MpiCollective, events: &mut CallEvents) {
        match (call.descriptor.function.definition().mode, call.request) {
            (BlockingMode::Blocking, _) => {
                events.push_at_enter(MpiEvent::MpiCollectiveBegin);
                events.push_at_leave(MpiEvent::MpiCollectiveEnd(collective));
            }
            (BlockingMode::Nonblocking, Some(request)) => events.push_at_enter(MpiEvent::NonBlockingCollectiveRequest(request_id(request))),
            _ => {}
        }
    }

    fn root(&self, descriptor: &CallDescriptor) -> Option<u32> {
        match descriptor.peer {
            raw::NONE => Some(NO_ROOT),
            raw::ROOT => Some(ROOT_SELF),
            raw::PROC_NULL => Some(ROOT_THIS_GROUP),
            peer => self.comm_ranks.peer(descriptor.object, peer, self.rank),
        }
    }

    fn create_communicator(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        events.push_at_leave(self.comm_id(descriptor.created).map(MpiEvent::CommCreate));
        let parent = self.comm_id(descriptor.object).filter(|_| is_collective_over_parent(descriptor.function));
        let Some(communicator) = parent else { return RequestKind::Other };
        let collective = MpiCollective { operation: code::CollectiveOp::CREATE_HANDLE, communicator, root: NO_ROOT, sent: 0, received: 0 };
        self.push_collective(call, collective, events);
        RequestKind::Collective(collective)
    }

    /// The event of a completed request.
    fn complete(&mut self, request: RequestId, listed: &ListedRequest) -> Option<MpiEvent> {
        let kind = self.open_requests.complete(&request)?;
        let id = request_id(request);
        match kind {
            RequestKind::Send(_) => Some(MpiEvent::MpiIsendComplete(id)),
            RequestKind::Receive(_) if !listed.is_receive => Some(MpiEvent::MpiRequestCancelled(id)),
            RequestKind::Receive(communicator) => {
                let message = self.message(communicator, listed.peer, listed.tag, listed.received);
                message.map(|message| MpiEvent::MpiRecv(message, Some(id)))
            }
            RequestKind::Collective(collective) => Some(MpiEvent::NonBlockingCollectiveComplete(collective, id)),
            RequestKind::Transfer(window, id) => Some(MpiEvent::RmaOpCompleteNonBlocking(window, id)),
            RequestKind::File(file, bytes, id) => Some(MpiEvent::IoOperationComplete(file, bytes, id)),
            RequestKind::Other => None,
        }
    }

    /// The event of a started persistent request.
    fn start(&mut self, request: RequestId) -> Option<MpiEvent> {
        let id = request_id(request);
        match *self.open_requests.get(&request)? {
            RequestKind::Send(message) => Some(MpiEvent::MpiSend(message, Some(id))),
            RequestKind::Receive(_) => Some(MpiEvent::MpiIrecvRequest(id)),
            RequestKind::Collective(_) => Some(MpiEvent::NonBlockingCollectiveRequest(id)),
            _ => None,
        }
    }

    /// The event of a listed request (a parameter if OTF2 has no event), with attributes for what it does not express.
    fn request_event(
        &self,
        event: Option<MpiEvent>,
        call: &RecordedCall,
        request: RequestId,
        actual: &ListedRequest,
    ) -> (MpiEvent, CallAttributeList) {
        let event = event.unwrap_or(MpiEvent::ParameterUnsignedInt(definitions::REQUEST_PARAMETER, request_id(request)));
        let context = self.decode_context();
        let mut attributes = CallAttributeList::default();
        let mut decoded = DecodedCall::new(call.descriptor.function);
        decoded.apply_event(&event, &attributes, context, &mut |_| Some(actual.request));
        // A request that is no receive has no other details.
        let actual = if actual.is_receive { *actual } else { unknown_request(actual.request, false) };
        if let Some(decoded) = decoded.descriptor.requests.first() {
            attributes.add_request_differences(decoded, &actual);
        }
        (event, attributes)
    }
}

/// The OTF2 id of a request.
pub(super) fn request_id(request: RequestId) -> u64 {
    RequestRef::Absolute(request.thread, request.number).to_word(false)
}

/// OTF2's number of a collective; neighbourhood collectives have none.
fn collective_op_code(pattern: CollectiveOp) -> Option<code::CollectiveOp> {
    const IN_ORDER: [CollectiveOp; 17] = [
        CollectiveOp::Barrier,
        CollectiveOp::Broadcast,
        CollectiveOp::Gather,
        CollectiveOp::Gatherv,
        CollectiveOp::Scatter,
        CollectiveOp::Scatterv,
        CollectiveOp::Allgather,
        CollectiveOp::Allgatherv,
        CollectiveOp::Alltoall,
        CollectiveOp::Alltoallv,
        CollectiveOp::Alltoallw,
        CollectiveOp::Allreduce,
        CollectiveOp::Reduce,
        CollectiveOp::ReduceScatter,
        CollectiveOp::Scan,
        CollectiveOp::Exscan,
        CollectiveOp::ReduceScatterBlock,
    ];
    IN_ORDER.iter().position(|known| *known == pattern).map(|index| code::CollectiveOp(index as u8))
}

/// Whether all members of the parent take part in the creation.
fn is_collective_over_parent(operation: FunctionId) -> bool {
    !matches!(
        operation.name(),
        "MPI_Comm_create_group" | "MPI_Comm_create_from_group" | "MPI_Comm_join" | "MPI_Intercomm_create_from_groups"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{call, write_recording};

    #[test]
    fn what_a_call_was_doing_when_the_process_was_cut_has_not_happened() {
        let cut = |operation: &str| CallDescriptor { object: 0, peer: 1, tag: 1, parts: part::UNFINISHED, ..call(operation, 1) };
        for operation in ["MPI_Barrier", "MPI_Recv", "MPI_Comm_dup"] {
            let example = write_recording(&[vec![(0, 1, 2, CallDescriptor { created: 0, ..cut(operation) })]]);
            let comm_ranks = CommRankMap::new(&example.recording);
            let (mut process, mut events) = (EventBuilder::new(&comm_ranks, 0), CallEvents::default());
            process.build_events(&example.recording.calls(0).unwrap().next_call().unwrap(), &mut events);
            assert_eq!(events.at_leave.len(), 0, "{operation}");
            assert_eq!(events.at_enter.len(), usize::from(operation != "MPI_Recv"), "{operation}");
        }
    }
}
