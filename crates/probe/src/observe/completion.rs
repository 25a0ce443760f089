//! Calls that complete or start requests: which requests, and for receives from whom, with which tag and how much.

use sintonia_mpi::{Role, Slots};
use sintonia_recording::raw::{self, MOST_REQUESTS, NONE, RequestRef, pair, part};

use super::Call;
use crate::library::{Handle, Kind};
use crate::requests::{REQUESTS, Request};

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
    // With all statuses ignored an MPI library may report an error differently, so they are asked for only where a receive needs them.
    if call.ignores_status() && call.thread.handles.iter().any(|handle| REQUESTS.get(*handle).is_some_and(|r| r.receive && r.active)) {
        call.want_status(statuses);
    }
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
            if let Some(place) = index(call, call.out_int(slots.index)) {
                completed(call, place, 0);
            }
        }
        _ => {
            let count = call.out_int(slots.outcount);
            if count <= 0 {
                return call.thread.recorder.mark(part::FOUND_NOTHING);
            }
            for status in 0..count as usize {
                if let Some(place) = index(call, call.out_int_at(slots.index, status)) {
                    completed(call, place, status);
                }
            }
        }
    }
}

/// A place in the array of requests from an index that MPI gave: C counts from 0, Fortran from 1.
fn index(call: &Call, index: i32) -> Option<usize> {
    let first = if call.counts_from_one() { 1 } else { 0 };
    usize::try_from(index - first).ok().filter(|place| *place < call.thread.handles.len())
}

#[inline(always)]
fn completed(call: &mut Call, place: usize, status: usize) {
    let handle = call.thread.handles[place];
    if handle == call.library.null_request {
        return;
    }
    let Some(request) = REQUESTS.completed(handle, call.library.shared_request(handle)) else { return };
    let (source, tag, bytes) = if request.receive { call.filled_status(status) } else { (NONE, NONE, raw::UNKNOWN_BYTES) };
    list(call, &request, request.receive, pair(source as u32, tag), bytes);
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
            list(call, &request, request.receive, pair(NONE as u32, NONE), raw::UNKNOWN_BYTES);
        }
    }
}

/// After `MPI_Request_free`.
pub fn freed(call: &mut Call) {
    if let Some(handle) = first(call) {
        REQUESTS.freed(handle);
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
        list(call, &request, request.receive, pair(NONE as u32, NONE), raw::UNKNOWN_BYTES);
    }
}

fn first(call: &Call) -> Option<Handle> {
    call.thread.handles.first().copied()
}
