//! A recorded call from entry to return. This code must be fast and must never harm the program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{Ordering, compiler_fence};

use sintonia_mpi::FunctionRole;
use sintonia_recording::raw::part;

use crate::call_frame::{CallFrame, is_inside_call};
use crate::clock::ticks;
use crate::library::library;
use crate::lifecycle;
use crate::observe::{self, CallObserver};
use crate::process::{self, ProcessState};
use crate::stub::{self, StubEntry};
use crate::thread::{self, CurrentCall, ThreadState};
use crate::tuning::{agreement, pieces, watch};

/// Runs before the real function.
pub(crate) unsafe extern "C" fn enter(frame: *mut CallFrame) {
    // SAFETY: the stub passes the frame on its stack.
    let frame = unsafe { &mut *frame };
    frame.thread = std::ptr::null_mut();
    frame.status_buffer = 0;
    if catch_unwind(AssertUnwindSafe(|| try_enter(frame))).is_err() {
        disable_probe();
    }
}

#[inline(always)]
fn try_enter(frame: &mut CallFrame) {
    let function = frame.entry().function();
    if process::state() != ProcessState::Recording && !lifecycle::begin(function.role) {
        return;
    }
    let (Some(library), Some(thread)) = (library(), thread::current()) else { return };
    frame.thread = &raw mut *thread;
    if is_inside_call(thread, frame.address()) {
        thread.nested_calls += 1;
        return;
    }
    thread.counters.end_segment();
    observe::enter(&mut CallObserver { function, thread, library, frame });
    agreement::before_call(function, &thread.recorder, library);
    thread.off_cpu.enter();
    let now = ticks();
    frame.enter = now;
    thread.counters.enter(now, thread.recorder.staged_site());
    thread.nested_calls = 0;
    thread.recorder.publish(now);
    // From here on the program can leave the call by a jump, also out of a signal handler: everything is staged before.
    compiler_fence(Ordering::SeqCst);
    thread.current_call = Some(CurrentCall { frame: frame.address(), enter: now });
    watch::enter(function, frame, &thread.recorder, now);
    pieces::enter(function, frame, &thread.recorder);
}

/// Runs after the real function.
pub(crate) unsafe extern "C" fn leave(frame: *mut CallFrame) {
    let now = ticks();
    // SAFETY: the stub passes the frame on its stack.
    let frame = unsafe { &mut *frame };
    // SAFETY: `enter` stored this thread's state here if the call is recorded; it is never freed.
    let Some(thread) = (unsafe { frame.thread.as_mut() }) else { return };
    if catch_unwind(AssertUnwindSafe(|| try_leave(frame, thread, now))).is_err() {
        disable_probe();
    }
}

#[inline(always)]
fn try_leave(frame: &mut CallFrame, thread: &mut ThreadState, now: u64) {
    let function = frame.entry().function();
    let Some(library) = library() else { return };
    // Differs for a nested call.
    if thread.current_call.is_none_or(|inside| inside.frame != frame.address()) {
        thread.nested_calls = thread.nested_calls.saturating_sub(1);
        return;
    }
    // It cannot be left otherwise any more.
    thread.current_call = None;
    compiler_fence(Ordering::SeqCst);
    thread.mpi_ticks += now.saturating_sub(frame.enter);
    thread.off_cpu.leave(frame.enter, now);
    observe::leave(&mut CallObserver { function, thread, library, frame });
    watch::leave(function, frame, &thread.recorder, now);
    pieces::leave(function, frame, &thread.recorder);
    thread.commit(now);
    thread.counters.leave(now);
    if function.role == FunctionRole::Finalize {
        lifecycle::end("finalized");
    }
}

/// Runs before `MPI_Pcontrol`: 0 switches recording off, anything else on.
pub(crate) unsafe extern "C" fn switch(argument: usize, entry: *const StubEntry, site: usize) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the stub passes one of the static entries.
        let function = unsafe { &*entry }.function();
        // SAFETY: Fortran passes the level by reference.
        let level = if function.fortran { unsafe { *(argument as *const i32) } } else { argument as i32 };
        if process::state() != ProcessState::Recording {
            return;
        }
        let Some(thread) = thread::current() else { return };
        if is_inside_call(thread, &raw const level as usize) {
            return;
        }
        thread.counters.end_segment();
        let now = ticks();
        thread.counters.enter(now, site);
        thread.recorder.stage(function.id.0, part::VALUE, function.language, site, 0);
        thread.recorder.put(part::VALUE, part::VALUE, level as u32 as u64);
        thread.recorder.publish(now);
        thread.recorder.commit(now);
        process::set_recording_off(level == 0);
        thread.counters.leave(ticks());
    }));
    if done.is_err() {
        disable_probe();
    }
}

/// The probe has failed: from now on all calls are passed through.
#[cold]
fn disable_probe() {
    stub::disable_all();
    let _ = catch_unwind(|| process::note("the probe failed inside a call; later calls of this process are not recorded"));
}
