//! The events of a location: those that say something of MPI, in OTF2's own terms.
//!
//! Ranks are ranks within a communicator, and everything else is named by the number of its definition. Events of other kinds (OpenMP,
//! metrics, ...) are skipped when a trace is read: every record has a length, except the few kinds that [`bare_length`] knows.

use crate::otf2::bytes::{Put, Reader, UNDEFINED};
use crate::otf2::local::{Ids, Mapped};

/// The record of attributes that precedes their event.
pub const ATTRIBUTES: u8 = 6;

/// No root, or all members of the group.
pub const NO_ROOT: u32 = UNDEFINED;
/// Between two groups: this process is the root.
pub const ROOT_HERE: u32 = UNDEFINED - 1;
/// Between two groups: the root is another process of the same group.
pub const ROOT_IN_THIS_GROUP: u32 = UNDEFINED - 2;

/// Numbers of operations of a group that are no exchange of data.
pub mod group {
    /// Wait for each other.
    pub const BARRIER: u8 = 0;
    /// Make a communicator or window.
    pub const CREATE: u8 = 17;
    /// Free it.
    pub const DESTROY: u8 = 18;
    /// Make a window and its memory.
    pub const CREATE_AND_ALLOCATE: u8 = 21;
}

/// An operation of all members of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Which one, by OTF2's number.
    pub operation: u8,
    /// The communicator.
    pub communicator: u32,
    /// The root's rank, or one of the constants of this module.
    pub root: u32,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank of the other side.
    pub peer: u32,
    /// The communicator.
    pub communicator: u32,
    /// The tag.
    pub tag: u32,
    /// Bytes.
    pub bytes: u64,
}

/// How data moves in a one-sided operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// To the target.
    Put,
    /// From the target.
    Get,
    /// An atomic update, by OTF2's number.
    Atomic(u8),
}

/// What completes an operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Whether data go to the file.
    pub writes: bool,
    /// Whether all who opened the file take part.
    pub collective: bool,
    /// Whether a later call completes it.
    pub nonblocking: bool,
    /// Bytes asked for.
    pub bytes: u64,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A region begins.
    Enter(u32),
    /// A region ends.
    Leave(u32),
    /// A region begins, named by its calling context.
    EnterContext(u32),
    /// A region ends, named by its calling context.
    LeaveContext(u32),
    /// The program begins: its name, and its arguments.
    ProgramBegin(u32, Vec<u32>),
    /// The program ends with a status.
    ProgramEnd(i64),
    /// A message leaves; with a request, another event tells that it has.
    Send(Message, Option<u64>),
    /// A send with a request is complete.
    SendComplete(u64),
    /// A receive with a request begins.
    Post(u64),
    /// A message was received.
    Receive(Message, Option<u64>),
    /// A request was asked for, and is not complete.
    Test(u64),
    /// A request was given up.
    Cancelled(u64),
    /// An operation of a group begins.
    CollectiveBegin,
    /// An operation of a group ends.
    CollectiveEnd(Collective),
    /// An operation of a group with a request begins.
    CollectivePost(u64),
    /// An operation of a group with a request ends.
    CollectiveComplete(Collective, u64),
    /// A communicator was made.
    CommunicatorCreate(u32),
    /// A communicator was freed.
    CommunicatorDestroy(u32),
    /// A window was made.
    WindowCreate(u32),
    /// A window was freed.
    WindowDestroy(u32),
    /// An operation of the members of a window begins.
    WindowCollectiveBegin,
    /// An operation of the members of a window ends.
    WindowCollectiveEnd {
        /// Which one, by OTF2's number.
        operation: u8,
        /// The window.
        window: u32,
    },
    /// A lock of a window at a rank (or at all: [`UNDEFINED`]) is asked for; whether nobody else may have it.
    WindowLock(u32, u32, bool),
    /// A lock of a window at a rank is given back.
    WindowUnlock(u32, u32),
    /// A window is synchronised with the members of a group.
    WindowGroupSync(u32, u32),
    /// A window is synchronised with a rank.
    WindowSync(u32, u32),
    /// A one-sided operation begins.
    Transfer {
        /// How data moves.
        how: Transfer,
        /// The window.
        window: u32,
        /// The target's rank.
        peer: u32,
        /// Bytes to the target.
        sent: u64,
        /// Bytes from it.
        received: u64,
        /// What names it when it is complete.
        id: u64,
    },
    /// A one-sided operation with a request is complete.
    TransferComplete(u32, u64),
    /// A one-sided operation is complete at the target.
    TransferDone(u32, u64),
    /// A file was opened.
    FileOpen(u32),
    /// A file was closed.
    FileClose(u32),
    /// Data of a file are read or written.
    FileBegin(u32, FileAccess, u64),
    /// Reading or writing goes on after the call.
    FileIssued(u32, u64),
    /// Reading or writing is complete: so many bytes.
    FileComplete(u32, u64, u64),
    /// A parameter has a value in the current region.
    Parameter(u32, u64),
    /// The tool that made the trace stopped to look.
    Interrupted,
}

mod kind {
    pub const FLUSH: u8 = 10;
    pub const ON_OFF: u8 = 11;
    pub const ENTER: u8 = 12;
    pub const LEAVE: u8 = 13;
    pub const SEND: u8 = 14;
    pub const ISEND: u8 = 15;
    pub const ISEND_COMPLETE: u8 = 16;
    pub const IRECV_REQUEST: u8 = 17;
    pub const RECV: u8 = 18;
    pub const IRECV: u8 = 19;
    pub const REQUEST_TEST: u8 = 20;
    pub const REQUEST_CANCELLED: u8 = 21;
    pub const COLLECTIVE_BEGIN: u8 = 22;
    pub const COLLECTIVE_END: u8 = 23;
    pub const OMP_FORK: u8 = 24;
    pub const OMP_JOIN: u8 = 25;
    pub const OMP_TASK_CREATE: u8 = 28;
    pub const OMP_TASK_SWITCH: u8 = 29;
    pub const OMP_TASK_COMPLETE: u8 = 30;
    pub const PARAMETER_UNSIGNED: u8 = 34;
    pub const WIN_CREATE: u8 = 35;
    pub const WIN_DESTROY: u8 = 36;
    pub const RMA_COLLECTIVE_BEGIN: u8 = 37;
    pub const RMA_COLLECTIVE_END: u8 = 38;
    pub const RMA_GROUP_SYNC: u8 = 39;
    pub const RMA_REQUEST_LOCK: u8 = 40;
    pub const RMA_ACQUIRE_LOCK: u8 = 41;
    pub const RMA_TRY_LOCK: u8 = 42;
    pub const RMA_RELEASE_LOCK: u8 = 43;
    pub const RMA_SYNC: u8 = 44;
    pub const RMA_PUT: u8 = 46;
    pub const RMA_GET: u8 = 47;
    pub const RMA_ATOMIC: u8 = 48;
    pub const RMA_COMPLETE_NONBLOCKING: u8 = 50;
    pub const RMA_COMPLETE_REMOTE: u8 = 52;
    pub const CONTEXT_ENTER: u8 = 66;
    pub const CONTEXT_LEAVE: u8 = 67;
    pub const IO_CREATE: u8 = 69;
    pub const IO_DESTROY: u8 = 70;
    pub const IO_BEGIN: u8 = 75;
    pub const IO_ISSUED: u8 = 77;
    pub const IO_COMPLETE: u8 = 78;
    pub const PROGRAM_BEGIN: u8 = 83;
    pub const PROGRAM_END: u8 = 84;
    pub const COLLECTIVE_REQUEST: u8 = 85;
    pub const COLLECTIVE_COMPLETE: u8 = 86;
    pub const COMM_CREATE: u8 = 87;
    pub const COMM_DESTROY: u8 = 88;
}

/// Both that all wait for each other and that memory is the same for all.
const SYNC_PROCESSES_AND_MEMORY: u32 = 3;
const EXCLUSIVE_LOCK: u8 = 0;
const SHARED_LOCK: u8 = 1;
const SYNC_MEMORY: u8 = 0;
const READ_AND_WRITE: u8 = 2;
const WRITE_MODE: u8 = 1;
const NONBLOCKING_ACCESS: u32 = 1;
const COLLECTIVE_ACCESS: u32 = 2;
const MEASUREMENT_OFF: u8 = 2;

/// How long a record is whose kind has no length of its own, given what follows its kind; `None` for all other kinds.
pub fn bare_length(kind: u8, ahead: &[u8]) -> Option<usize> {
    match kind {
        kind::COLLECTIVE_BEGIN | kind::RMA_COLLECTIVE_BEGIN | kind::OMP_JOIN => Some(1),
        kind::ENTER
        | kind::LEAVE
        | kind::ISEND_COMPLETE
        | kind::IRECV_REQUEST
        | kind::REQUEST_TEST
        | kind::REQUEST_CANCELLED
        | kind::OMP_FORK
        | kind::OMP_TASK_CREATE
        | kind::OMP_TASK_SWITCH
        | kind::OMP_TASK_COMPLETE => match ahead.first() {
            Some(&size @ 1..=8) => Some(1 + usize::from(size)),
            _ => Some(1),
        },
        _ => None,
    }
}

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

/// What an event record says, its numbers replaced by those of the global definitions.
pub enum Read {
    /// It is this event.
    Event(Event),
    /// It is of no interest here.
    Other,
    /// It makes no sense.
    Malformed,
}

/// Reads the record of an event.
pub fn read(kind: u8, content: Reader, ids: &Ids) -> Read {
    match parse(kind, content, ids) {
        Some(Some(event)) => Read::Event(event),
        Some(None) => Read::Other,
        None => Read::Malformed,
    }
}

fn parse(kind: u8, mut content: Reader, ids: &Ids) -> Option<Option<Event>> {
    let content = &mut content;
    let event = match kind {
        kind::ENTER => Event::Enter(ids.read(Mapped::Region, content)?),
        kind::LEAVE => Event::Leave(ids.read(Mapped::Region, content)?),
        kind::CONTEXT_ENTER => Event::EnterContext(ids.read(Mapped::CallingContext, content)?),
        kind::CONTEXT_LEAVE => Event::LeaveContext(ids.read(Mapped::CallingContext, content)?),
        kind::SEND => Event::Send(message(content, ids)?, None),
        kind::ISEND => Event::Send(message(content, ids)?, Some(content.u64()?)),
        kind::RECV => Event::Receive(message(content, ids)?, None),
        kind::IRECV => Event::Receive(message(content, ids)?, Some(content.u64()?)),
        kind::ISEND_COMPLETE => Event::SendComplete(content.u64()?),
        kind::IRECV_REQUEST => Event::Post(content.u64()?),
        kind::REQUEST_TEST => Event::Test(content.u64()?),
        kind::REQUEST_CANCELLED => Event::Cancelled(content.u64()?),
        kind::COLLECTIVE_BEGIN => Event::CollectiveBegin,
        kind::COLLECTIVE_END => Event::CollectiveEnd(collective(content, ids)?),
        kind::COLLECTIVE_REQUEST => Event::CollectivePost(content.u64()?),
        kind::COLLECTIVE_COMPLETE => Event::CollectiveComplete(collective(content, ids)?, content.u64()?),
        kind::PROGRAM_BEGIN => program(content, ids)?,
        kind::PROGRAM_END => Event::ProgramEnd(content.u64()? as i64),
        kind::PARAMETER_UNSIGNED => Event::Parameter(ids.read(Mapped::Parameter, content)?, content.u64()?),
        kind::FLUSH | kind::ON_OFF => Event::Interrupted,
        kind::COMM_CREATE => Event::CommunicatorCreate(ids.read(Mapped::Communicator, content)?),
        kind::COMM_DESTROY => Event::CommunicatorDestroy(ids.read(Mapped::Communicator, content)?),
        kind::IO_CREATE => Event::FileOpen(ids.read(Mapped::IoHandle, content)?),
        kind::IO_DESTROY => Event::FileClose(ids.read(Mapped::IoHandle, content)?),
        kind::IO_BEGIN => file_access(content, ids)?,
        kind::IO_ISSUED => Event::FileIssued(ids.read(Mapped::IoHandle, content)?, content.u64()?),
        kind::IO_COMPLETE => Event::FileComplete(ids.read(Mapped::IoHandle, content)?, content.u64()?, content.u64()?),
        _ => return one_sided(kind, content, ids),
    };
    Some(Some(event))
}

fn one_sided(kind: u8, content: &mut Reader, ids: &Ids) -> Option<Option<Event>> {
    let event = match kind {
        kind::WIN_CREATE => Event::WindowCreate(window(content, ids)?),
        kind::WIN_DESTROY => Event::WindowDestroy(window(content, ids)?),
        kind::RMA_COLLECTIVE_BEGIN => Event::WindowCollectiveBegin,
        kind::RMA_COLLECTIVE_END => {
            let (operation, _level) = (content.u8()?, content.u32()?);
            Event::WindowCollectiveEnd { operation, window: window(content, ids)? }
        }
        kind::RMA_GROUP_SYNC => {
            let _level = content.u32()?;
            Event::WindowGroupSync(window(content, ids)?, ids.read(Mapped::Group, content)?)
        }
        kind::RMA_SYNC => Event::WindowSync(window(content, ids)?, content.u32()?),
        kind::RMA_REQUEST_LOCK | kind::RMA_ACQUIRE_LOCK | kind::RMA_TRY_LOCK => {
            let (window, peer, _lock) = (window(content, ids)?, content.u32()?, content.u64()?);
            Event::WindowLock(window, peer, content.u8()? == EXCLUSIVE_LOCK)
        }
        kind::RMA_RELEASE_LOCK => Event::WindowUnlock(window(content, ids)?, content.u32()?),
        kind::RMA_PUT | kind::RMA_GET | kind::RMA_ATOMIC => transfer(kind, content, ids)?,
        kind::RMA_COMPLETE_NONBLOCKING => Event::TransferComplete(window(content, ids)?, content.u64()?),
        kind::RMA_COMPLETE_REMOTE => Event::TransferDone(window(content, ids)?, content.u64()?),
        _ => return Some(None),
    };
    Some(Some(event))
}

fn window(content: &mut Reader, ids: &Ids) -> Option<u32> {
    ids.read(Mapped::Window, content)
}

fn message(content: &mut Reader, ids: &Ids) -> Option<Message> {
    let peer = content.u32()?;
    Some(Message { peer, communicator: ids.read(Mapped::Communicator, content)?, tag: content.u32()?, bytes: content.u64()? })
}

fn collective(content: &mut Reader, ids: &Ids) -> Option<Collective> {
    let operation = content.u8()?;
    let communicator = ids.read(Mapped::Communicator, content)?;
    Some(Collective { operation, communicator, root: content.u32()?, sent: content.u64()?, received: content.u64()? })
}

fn program(content: &mut Reader, ids: &Ids) -> Option<Event> {
    let (name, count) = (ids.read(Mapped::String, content)?, content.u32()?);
    // An argument takes at least a byte: a count that is out of proportion ends here.
    let arguments = (0..count).map(|_| ids.read(Mapped::String, content)).collect::<Option<_>>()?;
    Some(Event::ProgramBegin(name, arguments))
}

fn transfer(kind: u8, content: &mut Reader, ids: &Ids) -> Option<Event> {
    let (window, peer) = (window(content, ids)?, content.u32()?);
    let (how, sent, received) = match kind {
        kind::RMA_PUT => (Transfer::Put, content.u64()?, 0),
        kind::RMA_GET => (Transfer::Get, 0, content.u64()?),
        _ => (Transfer::Atomic(content.u8()?), content.u64()?, content.u64()?),
    };
    Some(Event::Transfer { how, window, peer, sent, received, id: content.u64()? })
}

fn file_access(content: &mut Reader, ids: &Ids) -> Option<Event> {
    let (file, mode, flags, bytes) = (ids.read(Mapped::IoHandle, content)?, content.u8()?, content.u32()?, content.u64()?);
    let access = FileAccess {
        writes: mode == WRITE_MODE,
        collective: flags & COLLECTIVE_ACCESS != 0,
        nonblocking: flags & NONBLOCKING_ACCESS != 0,
        bytes,
    };
    Some(Event::FileBegin(file, access, content.u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::bytes::Order;

    #[test]
    fn every_event_survives_being_written_and_read() {
        let message = Message { peer: 3, communicator: 1, tag: 70_000, bytes: 1 << 40 };
        let collective = Collective { operation: 12, communicator: 0, root: ROOT_HERE, sent: 8, received: 0 };
        let access = FileAccess { writes: true, collective: false, nonblocking: true, bytes: 4096 };
        let transfer = |how, sent, received| Event::Transfer { how, window: 1, peer: 2, sent, received, id: 5 };
        let events = [
            Event::Enter(0),
            Event::Leave(300),
            Event::EnterContext(7),
            Event::LeaveContext(7),
            Event::ProgramBegin(1, vec![2, 3]),
            Event::ProgramEnd(-1),
            Event::Send(message, None),
            Event::Send(message, Some(u64::MAX - 1)),
            Event::SendComplete(u64::from(UNDEFINED)),
            Event::Post(1 << 48),
            Event::Receive(message, None),
            Event::Receive(message, Some(0)),
            Event::Test(9),
            Event::Cancelled(10),
            Event::CollectiveBegin,
            Event::CollectiveEnd(collective),
            Event::CollectivePost(11),
            Event::CollectiveComplete(collective, 11),
            Event::CommunicatorCreate(4),
            Event::CommunicatorDestroy(4),
            Event::WindowCreate(1),
            Event::WindowDestroy(1),
            Event::WindowCollectiveBegin,
            Event::WindowCollectiveEnd { operation: group::CREATE, window: 1 },
            Event::WindowLock(1, UNDEFINED, false),
            Event::WindowLock(1, 0, true),
            Event::WindowGroupSync(1, 4),
            Event::WindowUnlock(1, 2),
            Event::WindowSync(1, 0),
            transfer(Transfer::Put, 16, 0),
            transfer(Transfer::Get, 0, 16),
            transfer(Transfer::Atomic(3), 8, 8),
            Event::TransferComplete(1, 5),
            Event::TransferDone(1, 5),
            Event::FileOpen(2),
            Event::FileClose(2),
            Event::FileBegin(2, access, 6),
            Event::FileIssued(2, 6),
            Event::FileComplete(2, 4096, 6),
            Event::Parameter(0, 12),
            Event::Interrupted,
        ];
        let mut encoder = Encoder::default();
        for event in events {
            let mut bytes = Vec::new();
            encoder.put(&event, &mut bytes);
            let (kind, ahead) = bytes.split_first().unwrap();
            let from = if bare_length(*kind, ahead) == Some(ahead.len()) { 0 } else { 1 };
            assert!(from == 0 || usize::from(ahead[0]) == ahead.len() - 1, "{event:?} has its length");
            let read = read(*kind, Reader::new(&ahead[from..], Order::Little), &Ids::default());
            assert!(matches!(read, Read::Event(ref found) if *found == event), "{event:?}");
        }
    }
}
