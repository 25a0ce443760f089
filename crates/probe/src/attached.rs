//! MPI calls of a program that was attached to: they are bound when a session begins, and restored when it ends.
//!
//! The program's threads run meanwhile. References are replaced one by one, each by a single store, so a call reaches either the function
//! or its stub; a call in progress returns to where it came from. What the program did before is not known: communicators are asked for when
//! they are used, requests that were started before stay unknown.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::binding;
use crate::clock;
use crate::communicators;
use crate::datatypes;
use crate::library;
use crate::process::{self, ProcessState};
use crate::requests::REQUESTS;
use crate::settings;
use crate::stub;
use crate::thread;

/// Whether MPI calls of this program are bound for a session.
static IS_BOUND: AtomicBool = AtomicBool::new(false);

/// Binds the MPI calls of a program that is not recorded; in one that is, they are bound already.
pub(crate) fn bind() {
    if !settings::set_attached() {
        return;
    }
    clock::select_source();
    forget_world();
    if process::state() == ProcessState::Recording {
        process::set_state(ProcessState::Waiting);
    }
    let is_bound = binding::bind_running() > 0;
    IS_BOUND.store(is_bound, Ordering::Release);
}

/// Binds the calls of libraries that were loaded since.
pub(crate) fn bind_new_objects() {
    if IS_BOUND.load(Ordering::Acquire) {
        binding::bind_running_if_loaded();
    }
}

/// Restores everything: the program runs as before.
pub(crate) fn restore() {
    if settings::is_attached() {
        IS_BOUND.store(false, Ordering::Release);
        binding::restore();
    }
}

/// In a forked child: references lead to stubs, which pass calls on.
pub(crate) fn after_fork_in_child() {
    process::set_state(ProcessState::Ended);
    stub::disable_all();
    thread::forget();
}

/// Whether MPI calls are observed; the reason if not.
pub(crate) fn check_bound() -> Result<(), String> {
    if !settings::is_attached() || IS_BOUND.load(Ordering::Acquire) {
        return Ok(());
    }
    Err(if library::is_loaded() {
        "nothing in the program refers to them through the dynamic linker (it may have asked for their addresses)".into()
    } else {
        "no MPI library is loaded: it is linked into the program, or not loaded yet".into()
    })
}

/// Handles may have been freed and used again while the program was not observed.
fn forget_world() {
    REQUESTS.forget_all();
    communicators::forget_handles();
    datatypes::datatype_freed();
}
