//! Events as records.

use super::{COLLECTIVE_ACCESS, NONBLOCKING_ACCESS};
use super::{
    Collective, EXCLUSIVE_LOCK, Event, MEASUREMENT_OFF, Message, NO_ROOT, READ_AND_WRITE, SHARED_LOCK, SYNC_MEMORY,
    SYNC_PROCESSES_AND_MEMORY, Transfer, WRITE_MODE, bare_length, kind,
};
use crate::otf2::bytes::Put;

/// Writes events as records.
#[derive(Default)]
pub struct Encoder {
    content: Vec<u8>,
}

impl Encoder {
    /// Appends the record of an event.
    pub fn put(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.content.clear();
        let kind = put_content(event, &mut self.content);
        if bare_length(kind, &self.content).is_some() {
            out.push(kind);
            out.extend_from_slice(&self.content);
        } else {
            out.put_record(kind, &self.content);
        }
    }
}

/// Writes what the record of an event holds, and says its kind.
fn put_content(event: &Event, out: &mut Vec<u8>) -> u8 {
    match *event {
        Event::Enter(region) => put_numbers(out, &[region], kind::ENTER),
        Event::Leave(region) => put_numbers(out, &[region], kind::LEAVE),
        Event::EnterContext(context) => put_numbers(out, &[context, 0], kind::CONTEXT_ENTER),
        Event::LeaveContext(context) => put_numbers(out, &[context], kind::CONTEXT_LEAVE),
        Event::ProgramBegin(name, ref arguments) => {
            put_numbers(out, &[name, arguments.len() as u32], kind::PROGRAM_BEGIN);
            put_numbers(out, arguments, kind::PROGRAM_BEGIN)
        }
        Event::ProgramEnd(status) => put_longs(out, &[status as u64], kind::PROGRAM_END),
        Event::Send(message, request) => put_message(out, message, request, [kind::SEND, kind::ISEND]),
        Event::SendComplete(request) => put_longs(out, &[request], kind::ISEND_COMPLETE),
        Event::Post(request) => put_longs(out, &[request], kind::IRECV_REQUEST),
        Event::Receive(message, request) => put_message(out, message, request, [kind::RECV, kind::IRECV]),
        Event::Test(request) => put_longs(out, &[request], kind::REQUEST_TEST),
        Event::Cancelled(request) => put_longs(out, &[request], kind::REQUEST_CANCELLED),
        Event::CollectiveBegin => put_numbers(out, &[0], kind::COLLECTIVE_BEGIN),
        Event::CollectiveEnd(collective) => {
            put_collective(out, collective);
            kind::COLLECTIVE_END
        }
        Event::CollectivePost(request) => put_longs(out, &[request], kind::COLLECTIVE_REQUEST),
        Event::CollectiveComplete(collective, request) => {
            put_collective(out, collective);
            put_longs(out, &[request], kind::COLLECTIVE_COMPLETE)
        }
        Event::CommunicatorCreate(communicator) => put_numbers(out, &[communicator], kind::COMM_CREATE),
        Event::CommunicatorDestroy(communicator) => put_numbers(out, &[communicator], kind::COMM_DESTROY),
        Event::WindowCreate(window) => put_numbers(out, &[window], kind::WIN_CREATE),
        Event::WindowDestroy(window) => put_numbers(out, &[window], kind::WIN_DESTROY),
        Event::WindowCollectiveBegin => put_numbers(out, &[0], kind::RMA_COLLECTIVE_BEGIN),
        Event::WindowCollectiveEnd { operation, window } => {
            out.push(operation);
            put_numbers(out, &[SYNC_PROCESSES_AND_MEMORY, window, NO_ROOT, 0, 0], kind::RMA_COLLECTIVE_END)
        }
        Event::WindowLock(window, peer, exclusive) => {
            put_numbers(out, &[window, peer, 0], kind::RMA_REQUEST_LOCK);
            out.push(if exclusive { EXCLUSIVE_LOCK } else { SHARED_LOCK });
            kind::RMA_REQUEST_LOCK
        }
        Event::WindowUnlock(window, peer) => put_numbers(out, &[window, peer, 0], kind::RMA_RELEASE_LOCK),
        Event::WindowGroupSync(window, group) => put_numbers(out, &[SYNC_PROCESSES_AND_MEMORY, window, group], kind::RMA_GROUP_SYNC),
        Event::WindowSync(window, peer) => {
            put_numbers(out, &[window, peer], kind::RMA_SYNC);
            out.push(SYNC_MEMORY);
            kind::RMA_SYNC
        }
        Event::Transfer { how, window, peer, sent, received, id } => {
            put_numbers(out, &[window, peer], kind::RMA_PUT);
            match how {
                Transfer::Put => put_longs(out, &[sent, id], kind::RMA_PUT),
                Transfer::Get => put_longs(out, &[received, id], kind::RMA_GET),
                Transfer::Atomic(operation) => {
                    out.push(operation);
                    put_longs(out, &[sent, received, id], kind::RMA_ATOMIC)
                }
            }
        }
        Event::TransferComplete(window, id) => put_pair(out, window, id, kind::RMA_COMPLETE_NONBLOCKING),
        Event::TransferDone(window, id) => put_pair(out, window, id, kind::RMA_COMPLETE_REMOTE),
        Event::FileOpen(file) => {
            out.put_u32(file);
            out.push(READ_AND_WRITE);
            put_numbers(out, &[0, 0], kind::IO_CREATE)
        }
        Event::FileClose(file) => put_numbers(out, &[file], kind::IO_DESTROY),
        Event::FileBegin(file, access, id) => {
            out.put_u32(file);
            out.push(if access.writes { WRITE_MODE } else { 0 });
            let flag = |set: bool, bit: u32| if set { bit } else { 0 };
            out.put_u32(flag(access.nonblocking, NONBLOCKING_ACCESS) | flag(access.collective, COLLECTIVE_ACCESS));
            put_longs(out, &[access.bytes, id], kind::IO_BEGIN)
        }
        Event::FileIssued(file, id) => put_pair(out, file, id, kind::IO_ISSUED),
        Event::FileComplete(file, bytes, id) => {
            out.put_u32(file);
            put_longs(out, &[bytes, id], kind::IO_COMPLETE)
        }
        Event::Parameter(parameter, value) => put_pair(out, parameter, value, kind::PARAMETER_UNSIGNED),
        Event::Interrupted => {
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

fn put_message(out: &mut Vec<u8>, message: Message, request: Option<u64>, [blocking, nonblocking]: [u8; 2]) -> u8 {
    let Message { peer, communicator, tag, bytes } = message;
    put_numbers(out, &[peer, communicator, tag], blocking);
    out.put_u64(bytes);
    match request {
        None => blocking,
        Some(request) => put_longs(out, &[request], nonblocking),
    }
}

fn put_collective(out: &mut Vec<u8>, collective: Collective) {
    let Collective { operation, communicator, root, sent, received } = collective;
    out.push(operation);
    out.put_u32(communicator);
    out.put_u32(root);
    out.put_u64(sent);
    out.put_u64(received);
}
