//! Reads the arguments of calls, in one place for all languages and MPI libraries.
//!
//! Before the call only what identifies it is read (communicator, peer, tag), so that a call that never returns is recorded, too. Sizes,
//! statuses and requests are read after it, and only if it succeeded: MPI must never be queried about an argument that it has not accepted,
//! because the query itself would raise the program's error handler.

mod arguments;
mod collective;
mod completion;
mod file_path;

use sintonia_mpi::{ArgumentSlots, BlockingMode, FunctionRole};
use sintonia_recording::raw::{self, NO_OBJECT, NONE, pair, part, unpair};

pub(crate) use self::arguments::CallObserver;
use crate::communicators;
use crate::datatypes;
use crate::library::{Handle, HandleKind};
use crate::lifecycle;
use crate::process::is_recording_off;
use crate::requests::{REQUESTS, TrackedRequest};
use crate::settings::settings;

/// Payload parts by role.
mod parts {
    use sintonia_recording::raw::part::{CREATED, OBJECT, RECEIVED, SENT, SOURCE, TAG};
    pub(super) const SEND: u16 = OBJECT | TAG | SENT;
    pub(super) const RECEIVE: u16 = OBJECT | TAG | RECEIVED;
    pub(super) const SEND_RECEIVE: u16 = OBJECT | TAG | SOURCE | SENT | RECEIVED;
    pub(super) const TRANSFER: u16 = OBJECT | SENT | RECEIVED;
    pub(super) const CREATE: u16 = OBJECT | CREATED;
    pub(super) const FREE: u16 = CREATED;
    pub(super) const OBJECT_ONLY: u16 = OBJECT;
    pub(super) const READ: u16 = OBJECT | RECEIVED;
    pub(super) const WRITE: u16 = OBJECT | SENT;
    pub(super) const NOTHING: u16 = 0;
}

/// Before the call: its identity and peers.
#[inline(always)]
pub(crate) fn enter(call: &mut CallObserver) {
    let slots = &call.function.slots;
    match call.function.role {
        FunctionRole::Send => {
            call.stage(parts::SEND, 0);
            put_envelope(call, parts::SEND, slots.dest);
            call.put(parts::SEND, part::SENT, raw::UNKNOWN_BYTES);
        }
        FunctionRole::Receive | FunctionRole::Probe | FunctionRole::MatchedProbe => {
            call.stage(parts::RECEIVE, 0);
            put_envelope(call, parts::RECEIVE, slots.source);
            call.put(parts::RECEIVE, part::RECEIVED, raw::UNKNOWN_BYTES);
            call.request_statuses(1);
        }
        FunctionRole::MatchedReceive => {
            let communicator = communicators::message_received(call.message());
            call.stage(parts::RECEIVE, 0);
            call.put(parts::RECEIVE, part::OBJECT, pair(communicator, NONE));
            call.put(parts::RECEIVE, part::TAG, pair(NONE as u32, NONE));
            call.put(parts::RECEIVE, part::RECEIVED, raw::UNKNOWN_BYTES);
            call.request_statuses(1);
        }
        FunctionRole::SendReceive => {
            call.stage(parts::SEND_RECEIVE, 0);
            put_send_receive(call);
            call.request_statuses(1);
        }
        FunctionRole::Collective(_) => {
            call.stage(parts::TRANSFER, 0);
            let (object, root) = (call.known_communicator(slots.object), call.peer(slots.root));
            put_transfer(call, object, root);
        }
        FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
            completion::enter(call)
        }
        FunctionRole::RequestFree => {
            completion::resolve_requests(call);
            call.stage(parts::NOTHING, 1);
        }
        FunctionRole::Start | FunctionRole::StartAll | FunctionRole::PartitionReady | FunctionRole::PartitionArrived => {
            completion::save_handles(call);
            call.stage(parts::NOTHING, call.thread.handles.len());
        }
        _ => enter_rare(call),
    }
}

#[inline(always)]
fn put_envelope(call: &mut CallObserver, parts: u16, peer: u8) {
    let slots = &call.function.slots;
    let (object, peer, tag) = (call.known_communicator(slots.object), call.peer(peer), call.tag(slots.send_tag));
    call.put(parts, part::OBJECT, pair(object, peer));
    call.put(parts, part::TAG, pair(tag as u32, NONE));
}

fn put_send_receive(call: &mut CallObserver) {
    let slots = &call.function.slots;
    let (object, dest, source) = (call.known_communicator(slots.object), call.peer(slots.dest), call.peer(slots.source));
    let (send_tag, recv_tag) = (call.tag(slots.send_tag), call.tag(slots.recv_tag));
    call.put(parts::SEND_RECEIVE, part::OBJECT, pair(object, dest));
    call.put(parts::SEND_RECEIVE, part::TAG, pair(send_tag as u32, recv_tag));
    call.put(parts::SEND_RECEIVE, part::SOURCE, pair(source as u32, 0));
    call.put(parts::SEND_RECEIVE, part::SENT, raw::UNKNOWN_BYTES);
    call.put(parts::SEND_RECEIVE, part::RECEIVED, raw::UNKNOWN_BYTES);
}

#[inline(always)]
fn put_transfer(call: &mut CallObserver, object: u32, peer: i32) {
    call.put(parts::TRANSFER, part::OBJECT, pair(object, peer));
    call.put(parts::TRANSFER, part::SENT, raw::UNKNOWN_BYTES);
    call.put(parts::TRANSFER, part::RECEIVED, raw::UNKNOWN_BYTES);
}

/// Calls that are rare in inner loops, or slow by themselves.
fn enter_rare(call: &mut CallObserver) {
    let slots = &call.function.slots;
    match call.function.role {
        FunctionRole::CommunicatorCreate | FunctionRole::WindowCreate | FunctionRole::FileOpen => {
            call.stage(parts::CREATE, 0);
            let object = if slots.object == ArgumentSlots::ABSENT { NO_OBJECT } else { call.known_communicator(slots.object) };
            call.put(parts::CREATE, part::OBJECT, pair(object, NONE));
            call.put(parts::CREATE, part::CREATED, u64::from(NO_OBJECT));
        }
        FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => {
            call.stage(parts::TRANSFER, 0);
            let window = communicators::object("window", call.handle(HandleKind::Window, slots.window));
            put_transfer(call, window, call.peer(slots.dest));
        }
        FunctionRole::WindowSync => {
            call.stage(parts::OBJECT_ONLY, 0);
            let window = communicators::object("window", call.handle(HandleKind::Window, slots.window));
            call.put(parts::OBJECT_ONLY, part::OBJECT, pair(window, call.peer(slots.dest)));
        }
        FunctionRole::FileRead | FunctionRole::FileWrite | FunctionRole::FileOther => {
            let parts = match call.function.role {
                FunctionRole::FileRead => parts::READ,
                FunctionRole::FileWrite => parts::WRITE,
                _ => parts::OBJECT_ONLY,
            };
            call.stage(parts, 0);
            let file = if slots.file == ArgumentSlots::ABSENT {
                NO_OBJECT
            } else {
                communicators::object("file", call.handle(HandleKind::File, slots.file))
            };
            call.put(parts, part::OBJECT, pair(file, NONE));
            if parts != parts::OBJECT_ONLY {
                call.put(parts, parts & !part::OBJECT, raw::UNKNOWN_BYTES);
            }
        }
        // These change their argument, so it is read now; the object is removed after they have succeeded. After that, another thread may
        // get the same handle for a new object, so the id is looked up now as well.
        FunctionRole::CommunicatorFree => enter_free(call, HandleKind::Communicator, slots.object),
        FunctionRole::WindowFree => enter_free(call, HandleKind::Window, slots.window),
        FunctionRole::FileClose => enter_free(call, HandleKind::File, slots.file),
        role => {
            call.stage(parts::NOTHING, 0);
            match role {
                FunctionRole::Finalize => lifecycle::before_finalize(),
                FunctionRole::Abort => lifecycle::end("aborted"),
                _ => {}
            }
        }
    }
}

fn enter_free(call: &mut CallObserver, kind: HandleKind, slot: u8) {
    call.stage(parts::FREE, 0);
    let handle = call.handle_at_address(kind, slot);
    call.keep_handle(handle);
    let id = match kind {
        HandleKind::Communicator => communicators::communicator_id(handle),
        HandleKind::Window => communicators::object("window", handle),
        _ => communicators::object("file", handle),
    };
    call.put(parts::FREE, part::CREATED, u64::from(id));
}

/// After the call: sizes, and objects it created.
#[inline(always)]
pub(crate) fn leave(call: &mut CallObserver) {
    let error = call.error();
    if error != 0 {
        return record_failure(call, error);
    }
    let slots = &call.function.slots;
    match call.function.role {
        FunctionRole::Send => {
            call.put_communicator(parts::SEND, slots.object);
            let bytes = call.bytes(slots.send_count, slots.send_type) * call.partitions();
            call.put(parts::SEND, part::SENT, bytes);
        }
        FunctionRole::Receive | FunctionRole::MatchedReceive => record_receive(call),
        FunctionRole::Probe | FunctionRole::MatchedProbe => record_probe(call),
        FunctionRole::SendReceive => record_send_receive(call),
        FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
            completion::leave(call)
        }
        FunctionRole::Collective(pattern) => {
            call.put_communicator(parts::TRANSFER, slots.object);
            if let Some(communicator) = call.communicator(slots.object) {
                let (sent, received) = collective::bytes(call, pattern, &communicator);
                call.put(parts::TRANSFER, part::SENT, sent);
                call.put(parts::TRANSFER, part::RECEIVED, received);
            }
        }
        _ => leave_rare(call),
    }
    if call.function.mode != BlockingMode::Blocking {
        track_request(call);
    }
}

fn leave_rare(call: &mut CallObserver) {
    let slots = &call.function.slots;
    match call.function.role {
        FunctionRole::Start | FunctionRole::StartAll => completion::record_started(call),
        FunctionRole::RequestFree => completion::record_freed(call),
        FunctionRole::PartitionReady | FunctionRole::PartitionArrived => completion::record_partitions(call),
        FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => record_one_sided(call),
        FunctionRole::WindowSync => record_window_sync(call),
        FunctionRole::FileRead => {
            let bytes = call.bytes(slots.recv_count, slots.recv_type);
            call.put(parts::READ, part::RECEIVED, bytes);
        }
        FunctionRole::FileWrite => {
            let bytes = call.bytes(slots.send_count, slots.send_type);
            call.put(parts::WRITE, part::SENT, bytes);
        }
        FunctionRole::CommunicatorCreate => record_communicator(call),
        FunctionRole::WindowCreate => record_object(call, "window", HandleKind::Window, None),
        FunctionRole::FileOpen => {
            let path = settings().file_io.then(|| file_path::opened_path(call)).flatten();
            record_object(call, "file", HandleKind::File, path);
        }
        FunctionRole::CommunicatorFree | FunctionRole::WindowFree | FunctionRole::FileClose => forget_object(call),
        FunctionRole::DatatypeFree => datatypes::datatype_freed(),
        FunctionRole::Init => {
            lifecycle::on_initialized(call.library);
            call.thread.off_cpu.restart();
        }
        FunctionRole::SessionInit => {
            lifecycle::on_session_initialized(call.library, call.handle_at_address(HandleKind::Communicator, slots.object))
        }
        _ => {}
    }
}

#[cold]
fn record_failure(call: &mut CallObserver, error: i32) {
    call.thread.recorder.set_flag(part::ERROR);
    call.thread.recorder.insert_part(part::VALUE, error as u32 as u64);
    // A completion call can fail because of some of its requests; the others are complete nevertheless.
    if call.function.role.is_completion() {
        completion::record_failed(call);
    }
}

/// After a call that the program left without returning from it, but while its arguments are still there.
#[cold]
pub(crate) fn leave_otherwise(call: &mut CallObserver) {
    if call.function.role.is_completion() {
        completion::record_left(call);
    }
}

#[inline(always)]
fn track_request(call: &mut CallObserver) {
    let role = call.function.role;
    let slot = call.function.slots.request;
    let handle = call.handle_at_address(HandleKind::Request, slot);
    if handle == call.library.request_null {
        return;
    }
    let (address, recorded) = (call.address_in_array(slot, 0), !is_recording_off());
    let recorder = &mut call.thread.recorder;
    let persistent = call.function.mode == BlockingMode::Persistent;
    // A request that is not recorded is tracked, too: it must not be taken for one that is.
    let mut request = TrackedRequest::new(handle, call.thread.number, recorder.next_request, persistent, recorded);
    if call.library.is_created_request_shared(handle) {
        request = request.at_address(address);
    }
    let request = match role {
        FunctionRole::Receive | FunctionRole::MatchedReceive => {
            let (_, peer) = unpair(recorder.staged(parts::RECEIVE, part::OBJECT));
            let (tag, _) = unpair(recorder.staged(parts::RECEIVE, part::TAG));
            request.as_receive(peer, tag as i32, recorder.staged(parts::RECEIVE, part::RECEIVED))
        }
        FunctionRole::SendReceive => {
            let (source, _) = unpair(recorder.staged(parts::SEND_RECEIVE, part::SOURCE));
            let (_, tag) = unpair(recorder.staged(parts::SEND_RECEIVE, part::TAG));
            request.as_receive(source as i32, tag, recorder.staged(parts::SEND_RECEIVE, part::RECEIVED))
        }
        _ => request,
    };
    if recorded {
        recorder.next_request += 1;
        recorder.set_flag(part::REQUEST);
    }
    REQUESTS.insert(request);
}

#[inline(always)]
fn record_receive(call: &mut CallObserver) {
    let slots = &call.function.slots;
    if call.function.role == FunctionRole::Receive {
        call.put_communicator(parts::RECEIVE, slots.object);
    }
    if slots.status == ArgumentSlots::ABSENT {
        let bytes = call.bytes(slots.recv_count, slots.recv_type) * call.partitions();
        return call.put(parts::RECEIVE, part::RECEIVED, bytes);
    }
    call.put_status(parts::RECEIVE);
}

fn record_probe(call: &mut CallObserver) {
    let slots = &call.function.slots;
    call.put_communicator(parts::RECEIVE, slots.object);
    if slots.flag != ArgumentSlots::ABSENT && call.out_int(slots.flag) == 0 {
        call.put(parts::RECEIVE, part::RECEIVED, 0);
        return call.thread.recorder.set_flag(part::FLAG_FALSE);
    }
    if call.function.role == FunctionRole::MatchedProbe
        && let Some(communicator) = call.communicator(slots.object)
    {
        communicators::message_taken(call.message(), communicator.id);
    }
    call.put_status(parts::RECEIVE);
}

fn record_send_receive(call: &mut CallObserver) {
    let slots = &call.function.slots;
    call.put_communicator(parts::SEND_RECEIVE, slots.object);
    let sent = call.bytes(slots.send_count, slots.send_type);
    call.put(parts::SEND_RECEIVE, part::SENT, sent);
    if slots.status == ArgumentSlots::ABSENT {
        let received = if slots.recv_count == ArgumentSlots::ABSENT { sent } else { call.bytes(slots.recv_count, slots.recv_type) };
        return call.put(parts::SEND_RECEIVE, part::RECEIVED, received);
    }
    let Some(status) = call.filled_status(0) else { return };
    let (send_tag, _) = unpair(call.thread.recorder.staged(parts::SEND_RECEIVE, part::TAG));
    call.put(parts::SEND_RECEIVE, part::SOURCE, pair(status.source as u32, 0));
    call.put(parts::SEND_RECEIVE, part::TAG, pair(send_tag, status.tag));
    call.put(parts::SEND_RECEIVE, part::RECEIVED, status.bytes);
}

fn record_one_sided(call: &mut CallObserver) {
    let slots = &call.function.slots;
    let count = |call: &mut CallObserver, count: u8, datatype: u8| match (count, datatype) {
        (_, ArgumentSlots::ABSENT) => 0,
        (ArgumentSlots::ABSENT, datatype) => call.datatype_size(datatype),
        (count, datatype) => call.bytes(count, datatype),
    };
    let origin = count(call, slots.send_count, slots.send_type);
    let (sent, received) = match call.function.role {
        FunctionRole::Put => (origin, 0),
        FunctionRole::Get => (0, origin),
        // Fetch-and-op and compare-and-swap transfer one element in each direction.
        _ if slots.recv_count == ArgumentSlots::ABSENT => (origin, origin),
        _ => (origin, count(call, slots.recv_count, slots.recv_type)),
    };
    call.put(parts::TRANSFER, part::SENT, sent);
    call.put(parts::TRANSFER, part::RECEIVED, received);
}

/// Argument index of the group of `MPI_Win_post` and `MPI_Win_start`, and of the lock type of `MPI_Win_lock`, in every language.
const FIRST_ARGUMENT: u8 = 0;

/// Group or lock type of a window synchronisation.
fn record_window_sync(call: &mut CallObserver) {
    let value = match call.function.id.name() {
        "MPI_Win_post" | "MPI_Win_start" => communicators::group(call.library, call.handle(HandleKind::Group, FIRST_ARGUMENT)),
        "MPI_Win_lock" if call.int(FIRST_ARGUMENT) == call.library.shared_lock => Some(raw::LOCK_SHARED as u32),
        "MPI_Win_lock" => Some(raw::LOCK_EXCLUSIVE as u32),
        "MPI_Win_test" if call.out_int(call.function.slots.flag) == 0 => return call.thread.recorder.set_flag(part::FLAG_FALSE),
        _ => None,
    };
    if let Some(value) = value {
        call.thread.recorder.insert_part(part::VALUE, value.into());
    }
}

fn record_communicator(call: &mut CallObserver) {
    let slots = &call.function.slots;
    let mut parent = None;
    if slots.object != ArgumentSlots::ABSENT {
        call.put_communicator(parts::CREATE, slots.object);
        parent = call.communicator(slots.object).map(|c| c.id);
    }
    let made = call.handle_at_address(HandleKind::Communicator, slots.created);
    if call.function.mode == BlockingMode::Nonblocking {
        return communicators::creation_started(made, parent, call.function.id);
    }
    let id = communicators::created(call.library, made, parent, call.function.id);
    call.put(parts::CREATE, part::CREATED, u64::from(id));
}

fn record_object(call: &mut CallObserver, name: &'static str, kind: HandleKind, path: Option<String>) {
    call.put_communicator(parts::CREATE, call.function.slots.object);
    let communicator = call.communicator(call.function.slots.object).map(|c| c.id);
    let made = call.handle_at_address(kind, call.function.slots.created);
    let id = communicators::object_created(name, made, communicator, path);
    call.put(parts::CREATE, part::CREATED, u64::from(id));
}

fn forget_object(call: &mut CallObserver) {
    let handle: Handle = call.thread.handles.first().copied().unwrap_or(0);
    let id = call.thread.recorder.staged(parts::FREE, part::CREATED) as u32;
    match call.function.role {
        FunctionRole::CommunicatorFree => communicators::communicator_freed(handle, id),
        FunctionRole::WindowFree => communicators::object_freed("window", handle, id),
        _ => communicators::object_freed("file", handle, id),
    }
}
