//! What a call is about: read from its arguments, in one place for all languages and all MPI libraries.
//!
//! Before the call only what identifies it is read (communicator, peer, tag), so that a call that never returns is told too. Sizes,
//! statuses and requests are read after it, and only if it succeeded: an MPI library must never be asked about an argument that it has
//! not accepted, because the question itself would raise the program's error handler.

mod arguments;
mod collective;
mod completion;

use sintonia_mpi::{Mode, Role, Slots};
use sintonia_recording::raw::{self, NO_OBJECT, NONE, pair, part};

pub use self::arguments::Call;
use crate::call::switched_off;
use crate::communicators;
use crate::datatypes;
use crate::library::{Handle, Kind};
use crate::process;
use crate::requests::{REQUESTS, Request};

/// The parts that a call of each role has.
fn parts(role: Role) -> u16 {
    match role {
        Role::Send => part::OBJECT | part::TAG | part::SENT,
        Role::Receive | Role::Probe | Role::MatchedProbe | Role::MatchedReceive => part::OBJECT | part::TAG | part::RECEIVED,
        Role::SendReceive => part::OBJECT | part::TAG | part::SOURCE | part::SENT | part::RECEIVED,
        Role::Collective(_) | Role::Put | Role::Get | Role::Exchange => part::OBJECT | part::SENT | part::RECEIVED,
        Role::CommunicatorCreate | Role::WindowCreate | Role::FileOpen => part::OBJECT | part::MADE,
        Role::CommunicatorFree | Role::WindowFree | Role::FileClose => part::MADE,
        Role::WindowSync | Role::FileOther => part::OBJECT,
        Role::FileRead => part::OBJECT | part::RECEIVED,
        Role::FileWrite => part::OBJECT | part::SENT,
        _ => 0,
    }
}

/// Before the call: which it is, and with whom.
#[inline(always)]
pub fn enter(call: &mut Call) {
    let (role, slots) = (call.function.role, &call.function.slots);
    match role {
        Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => return completion::enter(call),
        Role::Start | Role::StartAll | Role::RequestFree | Role::PartitionReady | Role::PartitionArrived => completion::keep_handles(call),
        _ => {}
    }
    call.stage(parts(role), call.thread.handles.len());
    match role {
        Role::Send | Role::Receive | Role::Probe | Role::MatchedProbe => {
            let peer = if role == Role::Send { slots.dest } else { slots.source };
            let (object, peer, tag) = (call.known_communicator(slots.object), call.peer(peer), call.tag(slots.send_tag));
            call.put(part::OBJECT, pair(object, peer));
            call.put(part::TAG, pair(tag as u32, NONE));
        }
        Role::MatchedReceive => {
            let communicator = communicators::message_received(call.message());
            call.put(part::OBJECT, pair(communicator, NONE));
            call.put(part::TAG, pair(NONE as u32, NONE));
        }
        Role::SendReceive => {
            let (object, dest, source) = (call.known_communicator(slots.object), call.peer(slots.dest), call.peer(slots.source));
            let (send_tag, recv_tag) = (call.tag(slots.send_tag), call.tag(slots.recv_tag));
            call.put(part::OBJECT, pair(object, dest));
            call.put(part::TAG, pair(send_tag as u32, recv_tag));
            call.put(part::SOURCE, pair(source as u32, 0));
        }
        Role::Collective(_) => {
            let (object, root) = (call.known_communicator(slots.object), call.peer(slots.root));
            call.put(part::OBJECT, pair(object, root));
        }
        Role::CommunicatorCreate | Role::WindowCreate | Role::FileOpen => {
            let object = if slots.object == Slots::ABSENT { NO_OBJECT } else { call.known_communicator(slots.object) };
            call.put(part::OBJECT, pair(object, NONE));
            call.put(part::MADE, u64::from(NO_OBJECT));
        }
        Role::Put | Role::Get | Role::Exchange | Role::WindowSync => {
            let (window, target) = (communicators::object("window", call.handle(Kind::Window, slots.window)), call.peer(slots.dest));
            call.put(part::OBJECT, pair(window, target));
        }
        Role::FileRead | Role::FileWrite | Role::FileOther => {
            let file =
                if slots.file == Slots::ABSENT { NO_OBJECT } else { communicators::object("file", call.handle(Kind::File, slots.file)) };
            call.put(part::OBJECT, pair(file, NONE));
        }
        // These change their argument, so it is read now; what they free is forgotten when they have succeeded.
        Role::CommunicatorFree => {
            let handle = call.place_handle(Kind::Communicator, slots.object);
            let id = call.thread.communicators.known(handle).map_or(NO_OBJECT, |c| c.id);
            call.put(part::MADE, u64::from(id));
            call.keep_handle(handle);
        }
        Role::WindowFree => call.keep_handle(call.place_handle(Kind::Window, slots.window)),
        Role::FileClose => call.keep_handle(call.place_handle(Kind::File, slots.file)),
        Role::Finalize => process::before_finalize(),
        Role::Abort => process::end("aborted"),
        _ => {}
    }
    for sized in [part::SENT, part::RECEIVED] {
        if parts(role) & sized != 0 {
            call.put(sized, raw::UNKNOWN_BYTES);
        }
    }
    if matches!(role, Role::Receive | Role::SendReceive | Role::MatchedReceive | Role::Probe | Role::MatchedProbe)
        && slots.status != Slots::ABSENT
    {
        call.want_status(1);
    }
}

/// After the call: how much, and what it left behind.
#[inline(always)]
pub fn leave(call: &mut Call) {
    let error = call.error();
    if error != 0 {
        return failed(call, error);
    }
    let (role, slots) = (call.function.role, &call.function.slots);
    match role {
        Role::Send => {
            call.resolve_communicator(slots.object);
            let bytes = call.bytes(slots.send_count, slots.send_type) * call.partitions();
            call.put(part::SENT, bytes);
        }
        Role::Receive | Role::MatchedReceive => received(call),
        Role::Probe | Role::MatchedProbe => probed(call),
        Role::SendReceive => exchanged(call),
        Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => completion::leave(call),
        Role::Start | Role::StartAll => completion::started(call),
        Role::RequestFree => completion::freed(call),
        Role::PartitionReady | Role::PartitionArrived => completion::partitions(call),
        Role::Collective(pattern) => {
            let Some(communicator) = call.resolve_communicator(slots.object) else { return };
            let (sent, received) = collective::bytes(call, pattern, &communicator);
            call.put(part::SENT, sent);
            call.put(part::RECEIVED, received);
        }
        Role::Put | Role::Get | Role::Exchange => one_sided(call),
        Role::FileRead => {
            let bytes = call.bytes(slots.recv_count, slots.recv_type);
            call.put(part::RECEIVED, bytes);
        }
        Role::FileWrite => {
            let bytes = call.bytes(slots.send_count, slots.send_type);
            call.put(part::SENT, bytes);
        }
        Role::CommunicatorCreate => communicator_made(call),
        Role::WindowCreate => object_made(call, "window", Kind::Window),
        Role::FileOpen => object_made(call, "file", Kind::File),
        Role::CommunicatorFree | Role::WindowFree | Role::FileClose => object_freed(call),
        Role::DatatypeFree => datatypes::freed(),
        Role::Init => {
            let level = if slots.provided == Slots::ABSENT { None } else { Some(call.out_int(slots.provided)) };
            process::initialized(call.library, level);
        }
        Role::SessionInit => process::session_begun(call.library, call.place_handle(Kind::Communicator, slots.object)),
        _ => {}
    }
    if call.function.mode != Mode::Blocking {
        request_made(call);
    }
}

#[cold]
fn failed(call: &mut Call, error: i32) {
    call.thread.recorder.mark(part::ERROR);
    call.thread.recorder.add(part::VALUE, error as u32 as u64);
    // A call that completes requests can fail because of some of them; the others are complete all the same.
    if matches!(call.function.role, Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome) {
        completion::forget_completed(call);
    }
}

fn request_made(call: &mut Call) {
    let role = call.function.role;
    let handle = call.place_handle(Kind::Request, call.function.slots.request);
    if switched_off() || handle == call.library.null_request {
        return;
    }
    let receive = matches!(role, Role::Receive | Role::MatchedReceive | Role::SendReceive);
    let recorder = &mut call.thread.recorder;
    let request = Request::new(handle, call.thread.number, recorder.next_request, receive, call.function.mode == Mode::Persistent);
    recorder.next_request += 1;
    recorder.mark(part::REQUEST);
    REQUESTS.made(request, call.library.shared_request(handle));
}

fn received(call: &mut Call) {
    let slots = &call.function.slots;
    if call.function.role == Role::Receive {
        call.resolve_communicator(slots.object);
    }
    if slots.status == Slots::ABSENT {
        let bytes = call.bytes(slots.recv_count, slots.recv_type).max(call.bytes(slots.send_count, slots.send_type)) * call.partitions();
        return call.put(part::RECEIVED, bytes);
    }
    call.put_status(part::OBJECT, part::TAG);
}

fn probed(call: &mut Call) {
    let slots = &call.function.slots;
    let communicator = call.resolve_communicator(slots.object);
    if slots.flag != Slots::ABSENT && call.out_int(slots.flag) == 0 {
        call.put(part::RECEIVED, 0);
        return call.thread.recorder.mark(part::FOUND_NOTHING);
    }
    if let (Role::MatchedProbe, Some(communicator)) = (call.function.role, communicator) {
        communicators::message_taken(call.message(), communicator.id);
    }
    call.put_status(part::OBJECT, part::TAG);
}

fn exchanged(call: &mut Call) {
    let slots = &call.function.slots;
    call.resolve_communicator(slots.object);
    let sent = call.bytes(slots.send_count, slots.send_type);
    call.put(part::SENT, sent);
    if slots.status == Slots::ABSENT {
        let received = if slots.recv_count == Slots::ABSENT { sent } else { call.bytes(slots.recv_count, slots.recv_type) };
        return call.put(part::RECEIVED, received);
    }
    let (source, tag, bytes) = call.filled_status(0);
    let send_tag = call.thread.recorder.staged_part(part::TAG) as u32;
    call.put(part::SOURCE, pair(source as u32, 0));
    call.put(part::TAG, pair(send_tag, tag));
    call.put(part::RECEIVED, bytes);
}

fn one_sided(call: &mut Call) {
    let slots = &call.function.slots;
    let count = |call: &mut Call, count: u8, datatype: u8| match (count, datatype) {
        (_, Slots::ABSENT) => 0,
        (Slots::ABSENT, datatype) => call.datatype_size(datatype),
        (count, datatype) => call.bytes(count, datatype),
    };
    let origin = count(call, slots.send_count, slots.send_type);
    let (sent, received) = match call.function.role {
        Role::Put => (origin, 0),
        Role::Get => (0, origin),
        // Fetching and comparing move one element there and one back.
        _ if slots.recv_count == Slots::ABSENT => (origin, origin),
        _ => (origin, count(call, slots.recv_count, slots.recv_type)),
    };
    call.put(part::SENT, sent);
    call.put(part::RECEIVED, received);
}

fn communicator_made(call: &mut Call) {
    let slots = &call.function.slots;
    let parent = if slots.object == Slots::ABSENT { None } else { call.resolve_communicator(slots.object).map(|c| c.id) };
    let made = call.place_handle(Kind::Communicator, slots.created);
    if call.function.mode == Mode::Nonblocking {
        return communicators::promised(made, parent, call.operation);
    }
    let id = communicators::made(call.library, made, parent, call.operation);
    call.put(part::MADE, u64::from(id));
}

fn object_made(call: &mut Call, name: &'static str, kind: Kind) {
    let communicator = call.resolve_communicator(call.function.slots.object).map(|c| c.id);
    let made = call.place_handle(kind, call.function.slots.created);
    let id = communicators::object_made(name, made, communicator);
    call.put(part::MADE, u64::from(id));
}

fn object_freed(call: &mut Call) {
    let handle: Handle = call.thread.handles.first().copied().unwrap_or(0);
    let id = match call.function.role {
        Role::CommunicatorFree => communicators::freed(handle),
        Role::WindowFree => communicators::object_freed("window", handle),
        _ => communicators::object_freed("file", handle),
    };
    call.put(part::MADE, u64::from(id));
}
