//! A recorded call from its entry to its return. Everything here must be quick, and must never harm the program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_mpi::Role;
use sintonia_recording::raw::part;

use crate::clock::ticks;
use crate::library::library;
use crate::observe::{self, Call};
use crate::process::{self, State};
use crate::stub::{self, Entry, Frame};
use crate::thread::{self, Inside, Thread};
use crate::tuning::{together, watch};

/// `MPI_Pcontrol(0)` was called: calls are followed, but not written down.
static SWITCHED_OFF: AtomicBool = AtomicBool::new(false);

/// Whether recording is switched off by the program.
#[inline(always)]
pub fn switched_off() -> bool {
    SWITCHED_OFF.load(Ordering::Relaxed)
}

/// Runs before the real function.
pub unsafe extern "C" fn enter(frame: *mut Frame) {
    // SAFETY: the stub passes the frame it made on the stack.
    let frame = unsafe { &mut *frame };
    frame.thread = std::ptr::null_mut();
    frame.own_status = 0;
    if catch_unwind(AssertUnwindSafe(|| try_enter(frame))).is_err() {
        give_up();
    }
}

#[inline(always)]
fn try_enter(frame: &mut Frame) {
    let about = frame.entry().about();
    if process::state() != State::Recording && !process::begin(about.role) {
        return;
    }
    let (Some(library), Some(thread)) = (library(), thread::current()) else { return };
    let address = &raw const *frame as usize;
    if thread.inside.is_some_and(|inside| inside.encloses(address)) {
        return;
    }
    frame.thread = &raw mut *thread;
    observe::enter(&mut Call { about, thread, library, frame });
    together::enter(about, &thread.recorder, library);
    let now = ticks();
    frame.enter = now;
    thread.inside = Some(Inside { frame: address, enter: now });
    thread.recorder.under_way(now);
    watch::enter(about, frame, &thread.recorder, now);
}

/// Runs after the real function.
pub unsafe extern "C" fn leave(frame: *mut Frame) {
    let now = ticks();
    // SAFETY: the stub passes the frame it made on the stack.
    let frame = unsafe { &mut *frame };
    // SAFETY: `enter` put the state of this thread here if the call is recorded; it is never freed.
    let Some(thread) = (unsafe { frame.thread.as_mut() }) else { return };
    if catch_unwind(AssertUnwindSafe(|| try_leave(frame, thread, now))).is_err() {
        give_up();
    }
}

#[inline(always)]
fn try_leave(frame: &mut Frame, thread: &mut Thread, now: u64) {
    let about = frame.entry().about();
    let Some(library) = library() else { return };
    // Not so when a call inside this one was thought to come after it.
    if thread.inside.is_none_or(|inside| inside.frame != &raw const *frame as usize) {
        return;
    }
    observe::leave(&mut Call { about, thread, library, frame });
    watch::leave(about, frame, &thread.recorder, now);
    if switched_off() {
        thread.recorder.discard();
    } else {
        thread.recorder.commit(now);
    }
    thread.inside = None;
    if about.role == Role::Finalize {
        process::end("finalized");
    }
}

/// Runs before `MPI_Pcontrol`: 0 switches recording off, anything else on.
pub unsafe extern "C" fn switch(argument: usize, entry: *const Entry, site: usize) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the stub passes one of the static entries.
        let about = unsafe { &*entry }.about();
        // SAFETY: Fortran passes the level by reference.
        let level = if about.fortran { unsafe { *(argument as *const i32) } } else { argument as i32 };
        if process::state() != State::Recording {
            return;
        }
        let Some(thread) = thread::current().filter(|thread| thread.inside.is_none()) else { return };
        let now = ticks();
        thread.recorder.stage(about.operation.0, part::VALUE, about.language, site, 0);
        thread.recorder.put(part::VALUE, part::VALUE, level as u32 as u64);
        thread.recorder.under_way(now);
        thread.recorder.commit(now);
        SWITCHED_OFF.store(level == 0, Ordering::Relaxed);
    }));
    if done.is_err() {
        give_up();
    }
}

/// The probe has failed: from now on it only stands aside.
#[cold]
fn give_up() {
    stub::pass_all();
    let _ = catch_unwind(|| process::note("the probe failed inside a call; later calls of this process are not recorded"));
}
