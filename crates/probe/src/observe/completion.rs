//! Calls that complete, start or free requests: which requests, and source, tag and size of receives.

use sintonia_mpi::{ArgumentSlots, FunctionRole};
use sintonia_recording::raw::{self, MAX_REQUESTS, NONE, RequestRef, pair, part};

use super::CallObserver;
use crate::library::{Handle, HandleKind};
use crate::requests::{CompletingCall, REQUESTS, RequestVariable, TrackedRequest};

/// Neither source nor tag.
const NO_ENVELOPE: u64 = pair(NONE as u32, NONE);

/// Saves the handles of the call's requests: MPI overwrites those it completes.
#[inline(always)]
pub(super) fn save_handles(call: &mut CallObserver) {
    let slots = &call.function.slots;
    let length = if slots.length == ArgumentSlots::ABSENT { 1 } else { call.int(slots.length).max(0) as usize };
    // Pready and Parrived pass their request by value in C, all others by address.
    let by_value = matches!(call.function.role, FunctionRole::PartitionReady | FunctionRole::PartitionArrived);
    call.thread.handles.clear();
    for index in 0..length {
        let handle = if by_value {
            call.handle(HandleKind::Request, slots.request)
        } else {
            call.handle_in_array(HandleKind::Request, slots.request, index)
        };
        call.thread.handles.push(handle);
    }
}

/// Saves the handles of the call's requests, and looks the requests up: when it returns, others may have these handles.
#[inline(always)]
pub(super) fn resolve_requests(call: &mut CallObserver) {
    save_handles(call);
    let mut resolved = std::mem::take(&mut call.thread.resolved);
    let variables = call.thread.handles.iter().enumerate().map(|(index, handle)| request_variable(call, *handle, index));
    REQUESTS.resolve(variables, completing_call(call), &mut resolved);
    call.thread.resolved = resolved;
}

#[inline(always)]
fn completing_call(call: &CallObserver) -> CompletingCall {
    CompletingCall {
        site: call.frame.return_address(),
        all: matches!(call.function.role, FunctionRole::CompleteAll | FunctionRole::CompleteOne),
        tests: call.function.slots.flag != ArgumentSlots::ABSENT,
    }
}

#[inline(always)]
fn request_variable(call: &CallObserver, handle: Handle, index: usize) -> RequestVariable {
    if handle == call.library.request_null {
        RequestVariable::Null
    } else if call.library.is_shared_request(handle) {
        RequestVariable::Shared(call.address_in_array(call.function.slots.request, index))
    } else {
        RequestVariable::Handle(handle)
    }
}

/// Before a completion call.
#[inline(always)]
pub(super) fn enter(call: &mut CallObserver) {
    resolve_requests(call);
    let count = call.thread.handles.len();
    call.stage(0, count);
    let statuses = match call.function.role {
        FunctionRole::CompleteOne | FunctionRole::CompleteAny => 1,
        _ => count,
    };
    if call.ignores_status() && wants_statuses(call) {
        call.request_statuses(statuses);
    }
}

/// Whether to request statuses although the program ignores them: they give the size of a receive, and the source and tag of a wildcard
/// receive. If the library reports errors differently with statuses, only wildcards are reason enough.
fn wants_statuses(call: &CallObserver) -> bool {
    let careful =
        call.library.needs_statuses_for_errors && matches!(call.function.role, FunctionRole::CompleteAll | FunctionRole::CompleteSome);
    let wanted = |request: &TrackedRequest| {
        let receives = request.is_receive() && request.is_active() && request.peer != raw::PROC_NULL;
        receives && (!careful || request.peer == raw::ANY || request.tag == raw::ANY)
    };
    call.thread.resolved.iter().any(wanted)
}

/// After a completion call: lists the completed requests.
#[inline(always)]
pub(super) fn leave(call: &mut CallObserver) {
    let slots = &call.function.slots;
    let found = slots.flag == ArgumentSlots::ABSENT || call.out_int(slots.flag) != 0;
    match call.function.role {
        _ if !found => call.thread.recorder.set_flag(part::FLAG_FALSE),
        FunctionRole::CompleteOne => record_completed(call, 0, 0),
        FunctionRole::CompleteAll => {
            for index in 0..call.thread.handles.len() {
                record_completed(call, index, index);
            }
        }
        FunctionRole::CompleteAny => {
            let index = call.out_int(slots.index);
            if let Some(index) = array_index(call, index, first_index(call, &[index])) {
                record_completed(call, index, 0);
            }
        }
        _ => {
            let count = call.out_int(slots.outcount);
            if count <= 0 {
                return call.thread.recorder.set_flag(part::FLAG_FALSE);
            }
            // SAFETY: the call wrote this many indices.
            let indices = unsafe { std::slice::from_raw_parts(call.out_array(slots.index), count as usize) };
            let first = first_index(call, indices);
            for (status, index) in indices.iter().enumerate() {
                if let Some(index) = array_index(call, *index, first) {
                    record_completed(call, index, status);
                }
            }
        }
    }
}

/// The first index: 0 in C, 1 in Fortran; but MPICH 4.0 uses 0 for `mpi_f08`, too. Completed requests are null or persistent, so 1-based
/// indices are accepted only if they lead to such requests.
fn first_index(call: &CallObserver, indices: &[i32]) -> i32 {
    let complete = |index: &i32| {
        array_index(call, *index, 1).is_some_and(|index| {
            let (before, after) =
                (call.thread.handles[index], call.handle_in_array(HandleKind::Request, call.function.slots.request, index));
            before != call.library.request_null && (after == call.library.request_null || call.thread.resolved[index].is_persistent())
        })
    };
    if call.counts_from_one() && (indices == [call.library.layout.undefined] || indices.iter().all(complete)) { 1 } else { 0 }
}

/// Array index from an index returned by MPI.
fn array_index(call: &CallObserver, index: i32, first: i32) -> Option<usize> {
    usize::try_from(index - first).ok().filter(|index| *index < call.thread.handles.len())
}

#[inline(always)]
fn record_completed(call: &mut CallObserver, index: usize, status: usize) {
    let Some(request) = complete(call, index) else { return };
    if !request.is_receive() {
        return list_request(call, &request, false, NO_ENVELOPE, raw::UNKNOWN_BYTES);
    }
    if request.peer == raw::PROC_NULL {
        // Some versions of MPICH do not write the status.
        return list_request(call, &request, true, pair(raw::PROC_NULL as u32, raw::ANY), 0);
    }
    match call.filled_status(status) {
        // Cancelled: complete without a message.
        Some(message) if message.cancelled => list_request(call, &request, false, NO_ENVELOPE, raw::UNKNOWN_BYTES),
        Some(message) => list_request(call, &request, true, pair(message.source as u32, message.tag), message.bytes),
        None => list_request(call, &request, true, pair(request.peer as u32, request.tag), request.bytes),
    }
}

/// Completes a request of the call, and lists it if it is unknown. Returns it if it is known and was active.
#[inline(always)]
fn complete(call: &mut CallObserver, index: usize) -> Option<TrackedRequest> {
    let request = call.thread.resolved[index];
    if request.is_unknown() {
        complete_unknown(call);
    }
    if !request.is_active() {
        return None;
    }
    if request.is_persistent() || !completing_call(call).is_certain() {
        REQUESTS.complete(&request);
    }
    Some(request)
}

#[cold]
fn complete_unknown(call: &mut CallObserver) {
    REQUESTS.complete_unknown();
    list_reference(call, RequestRef::UNKNOWN, false, NO_ENVELOPE, raw::UNKNOWN_BYTES);
}

/// Lists a request, unless the call that created it is not recorded.
#[inline(always)]
fn list_request(call: &mut CallObserver, request: &TrackedRequest, receive: bool, source_and_tag: u64, bytes: u64) {
    if !request.is_recorded() {
        return;
    }
    let reference = if request.thread() == call.thread.number {
        RequestRef::Relative(call.thread.recorder.next_request - 1 - request.number)
    } else {
        RequestRef::Absolute(request.thread(), request.number)
    };
    list_reference(call, reference, receive, source_and_tag, bytes);
}

#[inline(always)]
fn list_reference(call: &mut CallObserver, reference: RequestRef, receive: bool, source_and_tag: u64, bytes: u64) {
    let recorder = &mut call.thread.recorder;
    if recorder.listed_count() == MAX_REQUESTS {
        recorder.continue_list();
    }
    recorder.list_request(reference.to_word(receive), source_and_tag, bytes);
}

/// After a failed call. Of receives that are complete it is not known whether they got a message.
pub(super) fn record_failed(call: &mut CallObserver) {
    settle_requests(call, |call, request| list_request(call, request, false, NO_ENVELOPE, raw::UNKNOWN_BYTES));
}

/// After a call that was left without returning. Receives that are complete got a message, unless they were cancelled.
pub(super) fn record_left(call: &mut CallObserver) {
    settle_requests(call, |call, request| {
        let envelope = if request.is_receive() { pair(request.peer as u32, request.tag) } else { NO_ENVELOPE };
        list_request(call, request, request.is_receive(), envelope, raw::UNKNOWN_BYTES);
    });
}

/// Requests of a call that are now null are complete, and are given to `list`. The others are still pending.
fn settle_requests(call: &mut CallObserver, list: impl Fn(&mut CallObserver, &TrackedRequest)) {
    for index in 0..call.thread.handles.len() {
        if call.handle_in_array(HandleKind::Request, call.function.slots.request, index) != call.library.request_null {
            REQUESTS.restore(&call.thread.resolved[index]);
        } else if let Some(request) = complete(call, index) {
            list(call, &request);
        }
    }
}

/// After a call that starts persistent requests.
pub(super) fn record_started(call: &mut CallObserver) {
    call.thread.recorder.set_flag(part::STARTED);
    for index in 0..call.thread.handles.len() {
        if let Some(request) = REQUESTS.start(call.thread.handles[index]) {
            list_request(call, &request, request.is_receive(), NO_ENVELOPE, raw::UNKNOWN_BYTES);
        }
    }
}

/// After `MPI_Request_free`: lists the freed request, which no call will complete.
pub(super) fn record_freed(call: &mut CallObserver) {
    let request = call.thread.resolved[0];
    if request.is_unknown() {
        complete_unknown(call);
    } else if request.is_known() {
        REQUESTS.remove(&request);
        list_request(call, &request, false, NO_ENVELOPE, raw::UNKNOWN_BYTES);
    }
}

/// After a call on partitions of a partitioned message: lists its request.
pub(super) fn record_partitions(call: &mut CallObserver) {
    let slots = &call.function.slots;
    if slots.flag != ArgumentSlots::ABSENT && call.out_int(slots.flag) == 0 {
        call.thread.recorder.set_flag(part::FLAG_FALSE);
    }
    call.thread.recorder.set_flag(part::STARTED);
    if let Some(request) = first_handle(call).and_then(|handle| REQUESTS.get(handle)) {
        list_request(call, &request, request.is_receive(), NO_ENVELOPE, raw::UNKNOWN_BYTES);
    }
}

fn first_handle(call: &CallObserver) -> Option<Handle> {
    call.thread.handles.first().copied()
}
