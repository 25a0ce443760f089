//! Calls that complete, start or give back requests: which requests, and for receives from whom, with which tag and how much.

use sintonia_mpi::{Role, Slots};
use sintonia_recording::raw::{self, MOST_REQUESTS, NONE, RequestRef, pair, part};

use super::Call;
use crate::library::{Handle, Kind};
use crate::requests::{REQUESTS, Request};

/// No source and no tag.
const NOTHING: u64 = pair(NONE as u32, NONE);

/// Keeps the handles of the call's requests: MPI overwrites those it completes.
pub fn keep_handles(call: &mut Call) {
    let slots = &call.about.slots;
    let length = if slots.length == Slots::ABSENT { 1 } else { call.int(slots.length).max(0) as usize };
    // Pready and Parrived pass their request by value in C, all others its address.
    let by_value = matches!(call.about.role, Role::PartitionReady | Role::PartitionArrived);
    call.thread.handles.clear();
    for place in 0..length {
        let handle =
            if by_value { call.handle(Kind::Request, slots.request) } else { call.place_handle_at(Kind::Request, slots.request, place) };
        call.thread.handles.push(handle);
    }
}

/// Before a call that completes requests.
#[inline(always)]
pub fn enter(call: &mut Call) {
    keep_handles(call);
    let count = call.thread.handles.len();
    call.stage(0, count);
    let statuses = match call.about.role {
        Role::CompleteOne | Role::CompleteAny => 1,
        _ => count,
    };
    if call.ignores_status() && wants_statuses(call) {
        call.want_status(statuses);
    }
}

/// Whether statuses are worth asking for although the program ignores them: they say how much a receive got, and from whom if it would
/// take anything. Where a library reports errors differently with statuses than without, only the latter is reason enough.
fn wants_statuses(call: &Call) -> bool {
    let careful = call.library.errors_hide_without_statuses && matches!(call.about.role, Role::CompleteAll | Role::CompleteSome);
    let wanted = |request: Request| request.receive && request.active && (!careful || request.peer == raw::ANY || request.tag == raw::ANY);
    call.thread.handles.iter().any(|handle| REQUESTS.get(*handle).is_some_and(wanted))
}

/// After a call that completes requests: lists those it completed.
#[inline(always)]
pub fn leave(call: &mut Call) {
    let slots = &call.about.slots;
    let found = slots.flag == Slots::ABSENT || call.out_int(slots.flag) != 0;
    match call.about.role {
        _ if !found => call.thread.recorder.mark(part::FOUND_NOTHING),
        Role::CompleteOne => completed(call, 0, 0),
        Role::CompleteAll => {
            for place in 0..call.thread.handles.len() {
                completed(call, place, place);
            }
        }
        Role::CompleteAny => {
            let index = call.out_int(slots.index);
            if let Some(place) = place(call, index, first_index(call, &[index])) {
                completed(call, place, 0);
            }
        }
        _ => {
            let count = call.out_int(slots.outcount);
            if count <= 0 {
                return call.thread.recorder.mark(part::FOUND_NOTHING);
            }
            // SAFETY: the call wrote this many indices.
            let indices = unsafe { std::slice::from_raw_parts(call.out_array(slots.index), count as usize) };
            let first = first_index(call, indices);
            for (status, index) in indices.iter().enumerate() {
                if let Some(place) = place(call, *index, first) {
                    completed(call, place, status);
                }
            }
        }
    }
}

/// What the first request's index is: 0 in C, 1 in Fortran; but MPICH 4.0 forgot that for `mpi_f08`. Requests that are complete are gone
/// or persistent, so counting from 1 is believed only if it leads to such ones.
fn first_index(call: &Call, indices: &[i32]) -> i32 {
    let complete = |index: &i32| {
        place(call, *index, 1).is_some_and(|place| {
            let (before, after) = (call.thread.handles[place], call.place_handle_at(Kind::Request, call.about.slots.request, place));
            before != call.library.null_request
                && (after == call.library.null_request || REQUESTS.get(before).is_some_and(|r| r.persistent))
        })
    };
    if call.counts_from_one() && (indices == [call.library.layout.undefined] || indices.iter().all(complete)) { 1 } else { 0 }
}

/// A place in the array of requests from an index that MPI gave.
fn place(call: &Call, index: i32, first: i32) -> Option<usize> {
    usize::try_from(index - first).ok().filter(|place| *place < call.thread.handles.len())
}

#[inline(always)]
fn completed(call: &mut Call, place: usize, status: usize) {
    let handle = call.thread.handles[place];
    if handle == call.library.null_request {
        return;
    }
    let Some(request) = REQUESTS.completed(handle, call.library.shared_request(handle)) else { return };
    if !request.receive {
        return list(call, &request, false, NOTHING, raw::UNKNOWN_BYTES);
    }
    match call.filled_status(status) {
        // Cancelled: complete without a message.
        Some(message) if message.cancelled => list(call, &request, false, NOTHING, raw::UNKNOWN_BYTES),
        Some(message) => list(call, &request, true, pair(message.source as u32, message.tag), message.bytes),
        None => list(call, &request, true, pair(request.peer as u32, request.tag), request.bytes),
    }
}

#[inline(always)]
fn list(call: &mut Call, request: &Request, receive: bool, source_and_tag: u64, bytes: u64) {
    let recorder = &mut call.thread.recorder;
    if recorder.listed() == MOST_REQUESTS {
        recorder.continue_list();
    }
    let reference = if request.thread == call.thread.number {
        RequestRef::Ago(recorder.next_request - 1 - request.number)
    } else {
        RequestRef::Of(request.thread, request.number)
    };
    recorder.list(reference.word(receive), source_and_tag, bytes);
}

/// After a call that failed: requests that are gone are complete, or nobody will ever complete them.
pub fn forget_completed(call: &mut Call) {
    let slots = &call.about.slots;
    for place in 0..call.thread.handles.len() {
        let handle = call.thread.handles[place];
        if call.place_handle_at(Kind::Request, slots.request, place) == call.library.null_request {
            REQUESTS.completed(handle, call.library.shared_request(handle));
        }
    }
}

/// After a call that starts persistent requests.
pub fn started(call: &mut Call) {
    call.thread.recorder.mark(part::STARTED);
    for place in 0..call.thread.handles.len() {
        if let Some(request) = REQUESTS.started(call.thread.handles[place]) {
            list(call, &request, request.receive, NOTHING, raw::UNKNOWN_BYTES);
        }
    }
}

/// After `MPI_Request_free`: lists the request that was given back, of which nobody will hear again.
pub fn freed(call: &mut Call) {
    let request = first(call).and_then(|handle| REQUESTS.freed(handle, call.library.shared_request(handle)));
    if let Some(request) = request {
        list(call, &request, false, NOTHING, raw::UNKNOWN_BYTES);
    }
}

/// After a call about partitions of a partitioned message: lists the request it is about.
pub fn partitions(call: &mut Call) {
    let slots = &call.about.slots;
    if slots.flag != Slots::ABSENT && call.out_int(slots.flag) == 0 {
        call.thread.recorder.mark(part::FOUND_NOTHING);
    }
    call.thread.recorder.mark(part::STARTED);
    if let Some(request) = first(call).and_then(|handle| REQUESTS.get(handle)) {
        list(call, &request, request.receive, NOTHING, raw::UNKNOWN_BYTES);
    }
}

fn first(call: &Call) -> Option<Handle> {
    call.thread.handles.first().copied()
}
