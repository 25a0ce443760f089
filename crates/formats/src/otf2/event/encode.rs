//! Encodes events as records.

use super::{COLLECTIVE_ACCESS, NONBLOCKING_ACCESS};
use super::{
    EXCLUSIVE_LOCK, EventRecord, MEASUREMENT_OFF, MpiCollective, MpiMessage, NO_ROOT, READ_AND_WRITE, RmaOperation, SHARED_LOCK,
    SYNC_MEMORY, SYNC_PROCESSES_AND_MEMORY, WRITE_MODE, implicit_length, kind,
};
use crate::otf2::buffer::BufferWrite;

/// Encodes events.
#[derive(Default)]
pub(crate) struct EventEncoder {
    content: Vec<u8>,
}

impl EventEncoder {
    /// Appends the record of an event.
    pub(crate) fn encode(&mut self, event: &EventRecord, out: &mut Vec<u8>) {
        self.content.clear();
        let kind = encode_body(event, &mut self.content);
        if implicit_length(kind, &self.content).is_some() {
            out.push(kind);
            out.extend_from_slice(&self.content);
        } else {
            out.put_record(kind, &self.content);
        }
    }
}

/// Encodes the content of a record; returns its type.
fn encode_body(event: &EventRecord, out: &mut Vec<u8>) -> u8 {
    match *event {
        EventRecord::Enter(region) => put_numbers(out, &[region], kind::ENTER),
        EventRecord::Leave(region) => put_numbers(out, &[region], kind::LEAVE),
        EventRecord::CallingContextEnter(context) => put_numbers(out, &[context, 0], kind::CONTEXT_ENTER),
        EventRecord::CallingContextLeave(context) => put_numbers(out, &[context], kind::CONTEXT_LEAVE),
        EventRecord::ProgramBegin(name, ref arguments) => {
            put_numbers(out, &[name, arguments.len() as u32], kind::PROGRAM_BEGIN);
            put_numbers(out, arguments, kind::PROGRAM_BEGIN)
        }
        EventRecord::ProgramEnd(status) => put_longs(out, &[status as u64], kind::PROGRAM_END),
        EventRecord::MpiSend(message, request) => put_message(out, message, request, [kind::SEND, kind::ISEND]),
        EventRecord::MpiIsendComplete(request) => put_longs(out, &[request], kind::ISEND_COMPLETE),
        EventRecord::MpiIrecvRequest(request) => put_longs(out, &[request], kind::IRECV_REQUEST),
        EventRecord::MpiRecv(message, request) => put_message(out, message, request, [kind::RECV, kind::IRECV]),
        EventRecord::MpiRequestTest(request) => put_longs(out, &[request], kind::REQUEST_TEST),
        EventRecord::MpiRequestCancelled(request) => put_longs(out, &[request], kind::REQUEST_CANCELLED),
        EventRecord::MpiCollectiveBegin => put_numbers(out, &[0], kind::COLLECTIVE_BEGIN),
        EventRecord::MpiCollectiveEnd(collective) => {
            put_collective(out, collective);
            kind::COLLECTIVE_END
        }
        EventRecord::NonBlockingCollectiveRequest(request) => put_longs(out, &[request], kind::COLLECTIVE_REQUEST),
        EventRecord::NonBlockingCollectiveComplete(collective, request) => {
            put_collective(out, collective);
            put_longs(out, &[request], kind::COLLECTIVE_COMPLETE)
        }
        EventRecord::CommCreate(communicator) => put_numbers(out, &[communicator], kind::COMM_CREATE),
        EventRecord::CommDestroy(communicator) => put_numbers(out, &[communicator], kind::COMM_DESTROY),
        EventRecord::RmaWinCreate(window) => put_numbers(out, &[window], kind::WIN_CREATE),
        EventRecord::RmaWinDestroy(window) => put_numbers(out, &[window], kind::WIN_DESTROY),
        EventRecord::RmaCollectiveBegin => put_numbers(out, &[0], kind::RMA_COLLECTIVE_BEGIN),
        EventRecord::RmaCollectiveEnd { operation, window } => {
            out.push(operation);
            put_numbers(out, &[SYNC_PROCESSES_AND_MEMORY, window, NO_ROOT, 0, 0], kind::RMA_COLLECTIVE_END)
        }
        EventRecord::RmaRequestLock(window, peer, exclusive) => {
            put_numbers(out, &[window, peer, 0], kind::RMA_REQUEST_LOCK);
            out.push(if exclusive { EXCLUSIVE_LOCK } else { SHARED_LOCK });
            kind::RMA_REQUEST_LOCK
        }
        EventRecord::RmaReleaseLock(window, peer) => put_numbers(out, &[window, peer, 0], kind::RMA_RELEASE_LOCK),
        EventRecord::RmaGroupSync(window, group) => put_numbers(out, &[SYNC_PROCESSES_AND_MEMORY, window, group], kind::RMA_GROUP_SYNC),
        EventRecord::RmaSync(window, peer) => {
            put_numbers(out, &[window, peer], kind::RMA_SYNC);
            out.push(SYNC_MEMORY);
            kind::RMA_SYNC
        }
        EventRecord::RmaTransfer { operation, window, peer, sent, received, id } => {
            put_numbers(out, &[window, peer], kind::RMA_PUT);
            match operation {
                RmaOperation::Put => put_longs(out, &[sent, id], kind::RMA_PUT),
                RmaOperation::Get => put_longs(out, &[received, id], kind::RMA_GET),
                RmaOperation::Atomic(operation) => {
                    out.push(operation);
                    put_longs(out, &[sent, received, id], kind::RMA_ATOMIC)
                }
            }
        }
        EventRecord::RmaOpCompleteNonBlocking(window, id) => put_pair(out, window, id, kind::RMA_COMPLETE_NONBLOCKING),
        EventRecord::RmaOpCompleteRemote(window, id) => put_pair(out, window, id, kind::RMA_COMPLETE_REMOTE),
        EventRecord::IoCreateHandle(file) => {
            out.put_u32(file);
            out.push(READ_AND_WRITE);
            put_numbers(out, &[0, 0], kind::IO_CREATE)
        }
        EventRecord::IoDestroyHandle(file) => put_numbers(out, &[file], kind::IO_DESTROY),
        EventRecord::IoOperationBegin(file, access, id) => {
            out.put_u32(file);
            out.push(if access.is_write { WRITE_MODE } else { 0 });
            let flag = |set: bool, bit: u32| if set { bit } else { 0 };
            out.put_u32(flag(access.nonblocking, NONBLOCKING_ACCESS) | flag(access.collective, COLLECTIVE_ACCESS));
            put_longs(out, &[access.bytes, id], kind::IO_BEGIN)
        }
        EventRecord::IoOperationIssued(file, id) => put_pair(out, file, id, kind::IO_ISSUED),
        EventRecord::IoOperationComplete(file, bytes, id) => {
            out.put_u32(file);
            put_longs(out, &[bytes, id], kind::IO_COMPLETE)
        }
        EventRecord::ParameterUnsignedInt(parameter, value) => put_pair(out, parameter, value, kind::PARAMETER_UNSIGNED),
        EventRecord::MeasurementInterrupted => {
            out.push(MEASUREMENT_OFF);
            kind::ON_OFF
        }
    }
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[u32], kind: u8) -> u8 {
    numbers.iter().for_each(|number| out.put_u32(*number));
    kind
}

fn put_longs(out: &mut Vec<u8>, numbers: &[u64], kind: u8) -> u8 {
    numbers.iter().for_each(|number| out.put_u64(*number));
    kind
}

fn put_pair(out: &mut Vec<u8>, number: u32, long: u64, kind: u8) -> u8 {
    out.put_u32(number);
    out.put_u64(long);
    kind
}

fn put_message(out: &mut Vec<u8>, message: MpiMessage, request: Option<u64>, [blocking, nonblocking]: [u8; 2]) -> u8 {
    let MpiMessage { peer, communicator, tag, bytes } = message;
    put_numbers(out, &[peer, communicator, tag], blocking);
    out.put_u64(bytes);
    match request {
        None => blocking,
        Some(request) => put_longs(out, &[request], nonblocking),
    }
}

fn put_collective(out: &mut Vec<u8>, collective: MpiCollective) {
    let MpiCollective { operation, communicator, root, sent, received } = collective;
    out.push(operation);
    out.put_u32(communicator);
    out.put_u32(root);
    out.put_u64(sent);
    out.put_u64(received);
}
