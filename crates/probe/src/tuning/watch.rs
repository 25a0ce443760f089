//! MPI functions as measure points: the probe intercepts their calls anyway, so they need no hook.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use sintonia_hook::{enter_mpi, has_room, leave_mpi, record_event};
use sintonia_link::probe_protocol::Recorded;
use sintonia_link::ring::{HookPoint, MPI_FUNCTION, UNKNOWN};
use sintonia_mpi::{FUNCTIONS, FunctionId, FunctionRole};

use crate::attached;
use crate::call_frame::CallFrame;
use crate::clock;
use crate::recorder::{CallRecorder, StagedCall};
use crate::stub::BoundFunction;

static WATCHED: [AtomicBool; FUNCTIONS.len()] = [const { AtomicBool::new(false) }; FUNCTIONS.len()];
/// The points of each watched function whose events are recorded.
static RECORDED: [AtomicU8; FUNCTIONS.len()] = [const { AtomicU8::new(BOTH_POINTS) }; FUNCTIONS.len()];
const BOTH_POINTS: u8 = HookPoint::Entry as u8 | HookPoint::Exit as u8;

/// Whether exits of watched functions are recorded besides, while there is room.
static FOLLOWED: AtomicBool = AtomicBool::new(false);

/// Starts or stops measuring a function; fails if its calls are not intercepted.
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

/// Selects the events of a function that are recorded. Sums are kept in any case: they cost little beside an MPI call.
pub(crate) fn set_records(operation: u16, Recorded { entry, exit, .. }: Recorded) {
    if let Some(recorded) = RECORDED.get(usize::from(operation)) {
        recorded.store((u8::from(entry) * HookPoint::Entry as u8) | (u8::from(exit) * HookPoint::Exit as u8), Ordering::Relaxed);
    }
}

/// Starts or stops recording the exits of all watched functions, as far as there is room for them.
pub(crate) fn set_followed(followed: bool) {
    FOLLOWED.store(followed, Ordering::Relaxed);
}

/// Stops measuring all functions.
pub(crate) fn clear() {
    set_followed(false);
    WATCHED.iter().for_each(|watched| watched.store(false, Ordering::Relaxed));
    RECORDED.iter().for_each(|recorded| recorded.store(BOTH_POINTS, Ordering::Relaxed));
}

/// At entry of a call, if the function is watched.
#[inline(always)]
pub(crate) fn enter(function: &BoundFunction, frame: &mut CallFrame, recorder: &CallRecorder, now: u64) {
    frame.watch_enter = 0;
    if WATCHED[usize::from(function.id.0)].load(Ordering::Relaxed) {
        note_entry(function, frame, recorder, now);
    }
}

/// At exit of a call, if its entry was seen.
#[inline(always)]
pub(crate) fn leave(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder, now: u64) {
    if frame.watch_enter != 0 {
        note_exit(function, frame, recorder, now);
    }
}

#[cold]
fn note_entry(function: &BoundFunction, frame: &mut CallFrame, recorder: &CallRecorder, now: u64) {
    let ticks = ring_ticks(now);
    enter_mpi(function.id.0);
    record_point(function, frame, recorder, HookPoint::Entry, ticks);
    frame.watch_enter = ticks;
}

#[cold]
fn note_exit(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder, now: u64) {
    let ticks = ring_ticks(now);
    leave_mpi(function.id.0, ticks.saturating_sub(frame.watch_enter), recorder.staged_call().bytes);
    record_point(function, frame, recorder, HookPoint::Exit, ticks);
}

/// Rings always use the time stamp counter.
fn ring_ticks(now: u64) -> u64 {
    // SAFETY: every x86-64 processor has it.
    if clock::uses_tsc() { now } else { unsafe { core::arch::x86_64::_rdtsc() } }
}

/// Records entry or exit of a call, if it is to be recorded.
fn record_point(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder, point: HookPoint, ticks: u64) {
    let is_followed = || point == HookPoint::Exit && FOLLOWED.load(Ordering::Relaxed) && has_room();
    if RECORDED[usize::from(function.id.0)].load(Ordering::Relaxed) & point as u8 == 0 && !is_followed() {
        return;
    }
    let StagedCall { bytes, peer, tag, object } = recorder.staged_call();
    // Negative numbers are special values, not a process or tag.
    let known = |number: i32| i64::from(number).max(UNKNOWN) as u64;
    let communicator = object.map_or(UNKNOWN as u64, u64::from);
    let words = [bytes, known(peer), known(tag), communicator, frame.return_address() as u64, frame.watch_enter];
    record_event(MPI_FUNCTION | u32::from(function.id.0), point, ticks, std::ptr::from_ref(frame) as u64, words);
}
