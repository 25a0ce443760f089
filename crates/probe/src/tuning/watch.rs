//! Functions of MPI as measure points: their calls come through the probe anyway, so they need no hook.

use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_hook::note;
use sintonia_link::ring::{Moment, OF_MPI, UNKNOWN};
use sintonia_mpi::{FUNCTIONS, Operation, Role};

use crate::clock;
use crate::stream::{Recorder, Staged};
use crate::stub::{About, Frame};
use crate::tuning::attach;

static WATCHED: [AtomicBool; FUNCTIONS.len()] = [const { AtomicBool::new(false) }; FUNCTIONS.len()];

/// Has calls of a function noted, or no more; or why that cannot be.
pub fn set(operation: u16, watched: bool) -> Result<(), String> {
    if !attach::sees_mpi() {
        return Err("calls of MPI are seen only in a program that `sintonia tune` has started, not in one that it was attached to".into());
    }
    let operation = Operation::from_number(operation).ok_or("there is no such function of MPI")?;
    match operation.role() {
        Role::Local => Err(format!("{} only asks the library, its calls are not led through the probe", operation.name())),
        Role::Switch => Err(format!("{} only speaks to tools, its calls are not measured", operation.name())),
        _ => {
            WATCHED[usize::from(operation.0)].store(watched, Ordering::Relaxed);
            Ok(())
        }
    }
}

/// Nothing is noted any more.
pub fn forget() {
    WATCHED.iter().for_each(|watched| watched.store(false, Ordering::Relaxed));
}

/// A call was entered: notes it if somebody wants to know.
#[inline(always)]
pub fn enter(about: &About, frame: &mut Frame, recorder: &Recorder, now: u64) {
    frame.watched_since = 0;
    if WATCHED[usize::from(about.operation.0)].load(Ordering::Relaxed) {
        frame.watched_since = noted(about, frame, recorder, Moment::Entry, now);
    }
}

/// A call is over: notes it if its entry was noted.
#[inline(always)]
pub fn leave(about: &About, frame: &Frame, recorder: &Recorder, now: u64) {
    if frame.watched_since != 0 {
        noted(about, frame, recorder, Moment::Exit, now);
    }
}

/// Notes a moment of a call; its ticks.
#[cold]
fn noted(about: &About, frame: &Frame, recorder: &Recorder, moment: Moment, now: u64) -> u64 {
    let Staged { bytes, peer, tag, object } = recorder.summary();
    // Whoever the library means by a negative number, it is no process and no tag.
    let known = |number: i32| i64::from(number).max(UNKNOWN) as u64;
    let communicator = object.map_or(UNKNOWN as u64, u64::from);
    // The clock of the rings is the processor's counter, whatever the recording's is.
    // SAFETY: every x86-64 processor has it.
    let ticks = if clock::is_counter() { now } else { unsafe { core::arch::x86_64::_rdtsc() } };
    let words = [bytes, known(peer), known(tag), communicator, 0, frame.watched_since];
    note(OF_MPI | u32::from(about.operation.0), moment, ticks, std::ptr::from_ref(frame) as u64, words);
    ticks
}
