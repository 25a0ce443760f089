//! MPI functions as measure points: the probe intercepts their calls anyway, so they need no hook.

use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_hook::record_event;
use sintonia_link::ring::{HookPoint, MPI_FUNCTION, UNKNOWN};
use sintonia_mpi::{FUNCTIONS, FunctionId, FunctionRole};

use crate::attached;
use crate::call_frame::CallFrame;
use crate::clock;
use crate::recorder::{CallRecorder, StagedCall};
use crate::stub::BoundFunction;

static WATCHED: [AtomicBool; FUNCTIONS.len()] = [const { AtomicBool::new(false) }; FUNCTIONS.len()];

/// Starts or stops recording events of a function; fails if its calls are not intercepted.
pub(crate) fn set_watched(operation: u16, watched: bool) -> Result<(), String> {
    attached::check_bound()?;
    let operation = FunctionId::from_index(operation).ok_or("no such MPI function")?;
    match operation.role() {
        FunctionRole::Local => Err(format!("{} is a local query; its calls are not intercepted", operation.name())),
        FunctionRole::Switch => Err(format!("{} is for tools only; its calls are not measured", operation.name())),
        _ => {
            WATCHED[usize::from(operation.0)].store(watched, Ordering::Relaxed);
            Ok(())
        }
    }
}

/// Stops recording all functions.
pub(crate) fn clear() {
    WATCHED.iter().for_each(|watched| watched.store(false, Ordering::Relaxed));
}

/// At entry of a call: records it if the function is watched.
#[inline(always)]
pub(crate) fn enter(function: &BoundFunction, frame: &mut CallFrame, recorder: &CallRecorder, now: u64) {
    frame.watch_enter = 0;
    if WATCHED[usize::from(function.id.0)].load(Ordering::Relaxed) {
        frame.watch_enter = record_point(function, frame, recorder, HookPoint::Entry, now);
    }
}

/// At exit of a call: records it if its entry was recorded.
#[inline(always)]
pub(crate) fn leave(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder, now: u64) {
    if frame.watch_enter != 0 {
        record_point(function, frame, recorder, HookPoint::Exit, now);
    }
}

/// Records entry or exit of a call and returns its ticks.
#[cold]
fn record_point(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder, point: HookPoint, now: u64) -> u64 {
    let StagedCall { bytes, peer, tag, object } = recorder.staged_call();
    // Negative numbers are special values, not a process or tag.
    let known = |number: i32| i64::from(number).max(UNKNOWN) as u64;
    let communicator = object.map_or(UNKNOWN as u64, u64::from);
    // Rings always use the time stamp counter.
    // SAFETY: every x86-64 processor has it.
    let ticks = if clock::uses_tsc() { now } else { unsafe { core::arch::x86_64::_rdtsc() } };
    let words = [bytes, known(peer), known(tag), communicator, frame.return_address() as u64, frame.watch_enter];
    record_event(MPI_FUNCTION | u32::from(function.id.0), point, ticks, std::ptr::from_ref(frame) as u64, words);
    ticks
}
