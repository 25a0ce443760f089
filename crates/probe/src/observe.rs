//! What a call is about: read from its arguments, in one place for all languages and all MPI libraries.
//!
//! Before the call only what identifies it is read (communicator, peer, tag), so that a call that never returns is told too. Sizes,
//! statuses and requests are read after it, and only if it succeeded: an MPI library must never be asked about an argument that it has
//! not accepted, because the question itself would raise the program's error handler.

mod arguments;
mod collective;
mod completion;

use sintonia_mpi::{Mode, Role, Slots};
use sintonia_recording::raw::{self, NO_OBJECT, NONE, pair, part, unpair};

pub use self::arguments::Call;
use crate::call::switched_off;
use crate::communicators;
use crate::datatypes;
use crate::library::{Handle, Kind};
use crate::process;
use crate::requests::{REQUESTS, Request};

/// The parts that calls of the various roles have.
mod parts {
    use sintonia_recording::raw::part::{MADE, OBJECT, RECEIVED, SENT, SOURCE, TAG};
    pub const SEND: u16 = OBJECT | TAG | SENT;
    pub const RECEIVE: u16 = OBJECT | TAG | RECEIVED;
    pub const SEND_RECEIVE: u16 = OBJECT | TAG | SOURCE | SENT | RECEIVED;
    pub const TRANSFER: u16 = OBJECT | SENT | RECEIVED;
    pub const CREATE: u16 = OBJECT | MADE;
    pub const FREE: u16 = MADE;
    pub const OBJECT_ONLY: u16 = OBJECT;
    pub const READ: u16 = OBJECT | RECEIVED;
    pub const WRITE: u16 = OBJECT | SENT;
    pub const NOTHING: u16 = 0;
}

/// Before the call: which it is, and with whom.
#[inline(always)]
pub fn enter(call: &mut Call) {
    let slots = &call.about.slots;
    match call.about.role {
        Role::Send => {
            call.stage(parts::SEND, 0);
            message(call, parts::SEND, slots.dest);
            call.put(parts::SEND, part::SENT, raw::UNKNOWN_BYTES);
        }
        Role::Receive | Role::Probe | Role::MatchedProbe => {
            call.stage(parts::RECEIVE, 0);
            message(call, parts::RECEIVE, slots.source);
            call.put(parts::RECEIVE, part::RECEIVED, raw::UNKNOWN_BYTES);
            call.want_status(1);
        }
        Role::MatchedReceive => {
            let communicator = communicators::message_received(call.message());
            call.stage(parts::RECEIVE, 0);
            call.put(parts::RECEIVE, part::OBJECT, pair(communicator, NONE));
            call.put(parts::RECEIVE, part::TAG, pair(NONE as u32, NONE));
            call.put(parts::RECEIVE, part::RECEIVED, raw::UNKNOWN_BYTES);
            call.want_status(1);
        }
        Role::SendReceive => {
            call.stage(parts::SEND_RECEIVE, 0);
            exchange(call);
            call.want_status(1);
        }
        Role::Collective(_) => {
            call.stage(parts::TRANSFER, 0);
            let (object, root) = (call.known_communicator(slots.object), call.peer(slots.root));
            transfer(call, object, root);
        }
        Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => completion::enter(call),
        Role::Start | Role::StartAll | Role::RequestFree | Role::PartitionReady | Role::PartitionArrived => {
            completion::keep_handles(call);
            call.stage(parts::NOTHING, call.thread.handles.len());
        }
        _ => enter_rare(call),
    }
}

#[inline(always)]
fn message(call: &mut Call, parts: u16, peer: u8) {
    let slots = &call.about.slots;
    let (object, peer, tag) = (call.known_communicator(slots.object), call.peer(peer), call.tag(slots.send_tag));
    call.put(parts, part::OBJECT, pair(object, peer));
    call.put(parts, part::TAG, pair(tag as u32, NONE));
}

fn exchange(call: &mut Call) {
    let slots = &call.about.slots;
    let (object, dest, source) = (call.known_communicator(slots.object), call.peer(slots.dest), call.peer(slots.source));
    let (send_tag, recv_tag) = (call.tag(slots.send_tag), call.tag(slots.recv_tag));
    call.put(parts::SEND_RECEIVE, part::OBJECT, pair(object, dest));
    call.put(parts::SEND_RECEIVE, part::TAG, pair(send_tag as u32, recv_tag));
    call.put(parts::SEND_RECEIVE, part::SOURCE, pair(source as u32, 0));
    call.put(parts::SEND_RECEIVE, part::SENT, raw::UNKNOWN_BYTES);
    call.put(parts::SEND_RECEIVE, part::RECEIVED, raw::UNKNOWN_BYTES);
}

#[inline(always)]
fn transfer(call: &mut Call, object: u32, peer: i32) {
    call.put(parts::TRANSFER, part::OBJECT, pair(object, peer));
    call.put(parts::TRANSFER, part::SENT, raw::UNKNOWN_BYTES);
    call.put(parts::TRANSFER, part::RECEIVED, raw::UNKNOWN_BYTES);
}

/// Calls that programs do not make in their inner loops, or that take long by themselves.
fn enter_rare(call: &mut Call) {
    let slots = &call.about.slots;
    match call.about.role {
        Role::CommunicatorCreate | Role::WindowCreate | Role::FileOpen => {
            call.stage(parts::CREATE, 0);
            let object = if slots.object == Slots::ABSENT { NO_OBJECT } else { call.known_communicator(slots.object) };
            call.put(parts::CREATE, part::OBJECT, pair(object, NONE));
            call.put(parts::CREATE, part::MADE, u64::from(NO_OBJECT));
        }
        Role::Put | Role::Get | Role::Exchange => {
            call.stage(parts::TRANSFER, 0);
            let window = communicators::object("window", call.handle(Kind::Window, slots.window));
            transfer(call, window, call.peer(slots.dest));
        }
        Role::WindowSync => {
            call.stage(parts::OBJECT_ONLY, 0);
            let window = communicators::object("window", call.handle(Kind::Window, slots.window));
            call.put(parts::OBJECT_ONLY, part::OBJECT, pair(window, call.peer(slots.dest)));
        }
        Role::FileRead | Role::FileWrite | Role::FileOther => {
            let parts = match call.about.role {
                Role::FileRead => parts::READ,
                Role::FileWrite => parts::WRITE,
                _ => parts::OBJECT_ONLY,
            };
            call.stage(parts, 0);
            let file =
                if slots.file == Slots::ABSENT { NO_OBJECT } else { communicators::object("file", call.handle(Kind::File, slots.file)) };
            call.put(parts, part::OBJECT, pair(file, NONE));
            if parts != parts::OBJECT_ONLY {
                call.put(parts, parts & !part::OBJECT, raw::UNKNOWN_BYTES);
            }
        }
        // These change their argument, so it is read now; what they free is forgotten when they have succeeded. Once they have, another
        // thread may get the same handle for something else, so what they free is looked up now as well.
        Role::CommunicatorFree => free(call, Kind::Communicator, slots.object),
        Role::WindowFree => free(call, Kind::Window, slots.window),
        Role::FileClose => free(call, Kind::File, slots.file),
        role => {
            call.stage(parts::NOTHING, 0);
            match role {
                Role::Finalize => process::before_finalize(),
                Role::Abort => process::end("aborted"),
                _ => {}
            }
        }
    }
}

fn free(call: &mut Call, kind: Kind, slot: u8) {
    call.stage(parts::FREE, 0);
    let handle = call.place_handle(kind, slot);
    call.keep_handle(handle);
    let id = match kind {
        Kind::Communicator => communicators::number(handle),
        Kind::Window => communicators::object("window", handle),
        _ => communicators::object("file", handle),
    };
    call.put(parts::FREE, part::MADE, u64::from(id));
}

/// After the call: how much, and what it left behind.
#[inline(always)]
pub fn leave(call: &mut Call) {
    let error = call.error();
    if error != 0 {
        return failed(call, error);
    }
    let slots = &call.about.slots;
    match call.about.role {
        Role::Send => {
            call.name_communicator(parts::SEND, slots.object);
            let bytes = call.bytes(slots.send_count, slots.send_type) * call.partitions();
            call.put(parts::SEND, part::SENT, bytes);
        }
        Role::Receive | Role::MatchedReceive => received(call),
        Role::Probe | Role::MatchedProbe => probed(call),
        Role::SendReceive => exchanged(call),
        Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => completion::leave(call),
        Role::Collective(pattern) => {
            call.name_communicator(parts::TRANSFER, slots.object);
            if let Some(communicator) = call.communicator(slots.object) {
                let (sent, received) = collective::bytes(call, pattern, &communicator);
                call.put(parts::TRANSFER, part::SENT, sent);
                call.put(parts::TRANSFER, part::RECEIVED, received);
            }
        }
        _ => leave_rare(call),
    }
    if call.about.mode != Mode::Blocking {
        request_made(call);
    }
}

fn leave_rare(call: &mut Call) {
    let slots = &call.about.slots;
    match call.about.role {
        Role::Start | Role::StartAll => completion::started(call),
        Role::RequestFree => completion::freed(call),
        Role::PartitionReady | Role::PartitionArrived => completion::partitions(call),
        Role::Put | Role::Get | Role::Exchange => one_sided(call),
        Role::WindowSync => synchronised(call),
        Role::FileRead => {
            let bytes = call.bytes(slots.recv_count, slots.recv_type);
            call.put(parts::READ, part::RECEIVED, bytes);
        }
        Role::FileWrite => {
            let bytes = call.bytes(slots.send_count, slots.send_type);
            call.put(parts::WRITE, part::SENT, bytes);
        }
        Role::CommunicatorCreate => communicator_made(call),
        Role::WindowCreate => object_made(call, "window", Kind::Window),
        Role::FileOpen => object_made(call, "file", Kind::File),
        Role::CommunicatorFree | Role::WindowFree | Role::FileClose => object_freed(call),
        Role::DatatypeFree => datatypes::freed(),
        Role::Init => process::initialized(call.library),
        Role::SessionInit => process::session_begun(call.library, call.place_handle(Kind::Communicator, slots.object)),
        _ => {}
    }
}

#[cold]
fn failed(call: &mut Call, error: i32) {
    call.thread.recorder.mark(part::ERROR);
    call.thread.recorder.add(part::VALUE, error as u32 as u64);
    // A call that completes requests can fail because of some of them; the others are complete all the same.
    if matches!(call.about.role, Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome) {
        completion::forget_completed(call);
    }
}

fn request_made(call: &mut Call) {
    let role = call.about.role;
    let handle = call.place_handle(Kind::Request, call.about.slots.request);
    if switched_off() || handle == call.library.null_request {
        return;
    }
    let recorder = &mut call.thread.recorder;
    let request = Request::new(handle, call.thread.number, recorder.next_request, call.about.mode == Mode::Persistent);
    let request = match role {
        Role::Receive | Role::MatchedReceive => {
            let (_, peer) = unpair(recorder.staged(parts::RECEIVE, part::OBJECT));
            let (tag, _) = unpair(recorder.staged(parts::RECEIVE, part::TAG));
            request.receiving(peer, tag as i32, recorder.staged(parts::RECEIVE, part::RECEIVED))
        }
        Role::SendReceive => {
            let (source, _) = unpair(recorder.staged(parts::SEND_RECEIVE, part::SOURCE));
            let (_, tag) = unpair(recorder.staged(parts::SEND_RECEIVE, part::TAG));
            request.receiving(source as i32, tag, recorder.staged(parts::SEND_RECEIVE, part::RECEIVED))
        }
        _ => request,
    };
    recorder.next_request += 1;
    recorder.mark(part::REQUEST);
    REQUESTS.made(request, call.library.shared_request(handle));
}

#[inline(always)]
fn received(call: &mut Call) {
    let slots = &call.about.slots;
    if call.about.role == Role::Receive {
        call.name_communicator(parts::RECEIVE, slots.object);
    }
    if slots.status == Slots::ABSENT {
        let bytes = call.bytes(slots.recv_count, slots.recv_type) * call.partitions();
        return call.put(parts::RECEIVE, part::RECEIVED, bytes);
    }
    call.put_status(parts::RECEIVE);
}

fn probed(call: &mut Call) {
    let slots = &call.about.slots;
    call.name_communicator(parts::RECEIVE, slots.object);
    if slots.flag != Slots::ABSENT && call.out_int(slots.flag) == 0 {
        call.put(parts::RECEIVE, part::RECEIVED, 0);
        return call.thread.recorder.mark(part::FOUND_NOTHING);
    }
    if call.about.role == Role::MatchedProbe
        && let Some(communicator) = call.communicator(slots.object)
    {
        communicators::message_taken(call.message(), communicator.id);
    }
    call.put_status(parts::RECEIVE);
}

fn exchanged(call: &mut Call) {
    let slots = &call.about.slots;
    call.name_communicator(parts::SEND_RECEIVE, slots.object);
    let sent = call.bytes(slots.send_count, slots.send_type);
    call.put(parts::SEND_RECEIVE, part::SENT, sent);
    if slots.status == Slots::ABSENT {
        let received = if slots.recv_count == Slots::ABSENT { sent } else { call.bytes(slots.recv_count, slots.recv_type) };
        return call.put(parts::SEND_RECEIVE, part::RECEIVED, received);
    }
    let Some(status) = call.filled_status(0) else { return };
    let (send_tag, _) = unpair(call.thread.recorder.staged(parts::SEND_RECEIVE, part::TAG));
    call.put(parts::SEND_RECEIVE, part::SOURCE, pair(status.source as u32, 0));
    call.put(parts::SEND_RECEIVE, part::TAG, pair(send_tag, status.tag));
    call.put(parts::SEND_RECEIVE, part::RECEIVED, status.bytes);
}

fn one_sided(call: &mut Call) {
    let slots = &call.about.slots;
    let count = |call: &mut Call, count: u8, datatype: u8| match (count, datatype) {
        (_, Slots::ABSENT) => 0,
        (Slots::ABSENT, datatype) => call.datatype_size(datatype),
        (count, datatype) => call.bytes(count, datatype),
    };
    let origin = count(call, slots.send_count, slots.send_type);
    let (sent, received) = match call.about.role {
        Role::Put => (origin, 0),
        Role::Get => (0, origin),
        // Fetching and comparing move one element there and one back.
        _ if slots.recv_count == Slots::ABSENT => (origin, origin),
        _ => (origin, count(call, slots.recv_count, slots.recv_type)),
    };
    call.put(parts::TRANSFER, part::SENT, sent);
    call.put(parts::TRANSFER, part::RECEIVED, received);
}

/// Where `MPI_Win_post` and `MPI_Win_start` have their group, and `MPI_Win_lock` its kind, in every language.
const FIRST: u8 = 0;

/// With whom a window is synchronised, and how.
fn synchronised(call: &mut Call) {
    let value = match call.about.operation.name() {
        "MPI_Win_post" | "MPI_Win_start" => communicators::group(call.library, call.handle(Kind::Group, FIRST)),
        "MPI_Win_lock" if call.int(FIRST) == call.library.shared_lock => Some(raw::LOCK_SHARED as u32),
        "MPI_Win_lock" => Some(raw::LOCK_EXCLUSIVE as u32),
        "MPI_Win_test" if call.out_int(call.about.slots.flag) == 0 => return call.thread.recorder.mark(part::FOUND_NOTHING),
        _ => None,
    };
    if let Some(value) = value {
        call.thread.recorder.add(part::VALUE, value.into());
    }
}

fn communicator_made(call: &mut Call) {
    let slots = &call.about.slots;
    let mut parent = None;
    if slots.object != Slots::ABSENT {
        call.name_communicator(parts::CREATE, slots.object);
        parent = call.communicator(slots.object).map(|c| c.id);
    }
    let made = call.place_handle(Kind::Communicator, slots.created);
    if call.about.mode == Mode::Nonblocking {
        return communicators::promised(made, parent, call.about.operation);
    }
    let id = communicators::made(call.library, made, parent, call.about.operation);
    call.put(parts::CREATE, part::MADE, u64::from(id));
}

fn object_made(call: &mut Call, name: &'static str, kind: Kind) {
    call.name_communicator(parts::CREATE, call.about.slots.object);
    let communicator = call.communicator(call.about.slots.object).map(|c| c.id);
    let made = call.place_handle(kind, call.about.slots.created);
    let id = communicators::object_made(name, made, communicator);
    call.put(parts::CREATE, part::MADE, u64::from(id));
}

fn object_freed(call: &mut Call) {
    let handle: Handle = call.thread.handles.first().copied().unwrap_or(0);
    let id = call.thread.recorder.staged(parts::FREE, part::MADE) as u32;
    match call.about.role {
        Role::CommunicatorFree => communicators::freed(handle, id),
        Role::WindowFree => communicators::object_freed("window", handle, id),
        _ => communicators::object_freed("file", handle, id),
    }
}
