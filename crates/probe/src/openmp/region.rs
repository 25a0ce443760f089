//! Begin and end of a region, whatever runtime reports them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::region_recorder;
use super::team::{self, Team};
use crate::call_path::CallerRegisters;
use crate::clock::ticks;
use crate::process::{self, ProcessState};
use crate::settings;
use crate::thread;

/// Whether regions are recorded at present.
#[inline(always)]
pub(super) fn is_recorded() -> bool {
    process::state() == ProcessState::Recording && settings::records_openmp() && !process::is_recording_off()
}

/// A thread is about to start a region with at most this many threads. `None` if the region is not recorded.
pub(super) fn enter(caller: CallerRegisters, threads: usize) -> Option<&'static Team> {
    if !is_recorded() {
        return None;
    }
    let errno = errno();
    let team = catch_unwind(AssertUnwindSafe(|| {
        // Only a thread that calls MPI has a cache of call paths. A nested region is started by others, too, and is one region for all.
        let is_nested = team::current().is_some();
        let (site, number) = match thread::existing() {
            Some(thread) if !is_nested => (thread.call_path.site_word(caller) as u64, usize::from(thread.number) + 1),
            Some(thread) => (caller.return_address, usize::from(thread.number) + 1),
            None => (caller.return_address, 0),
        };
        let team = region_recorder::take_team(threads)?;
        team.site.store(site, Ordering::Relaxed);
        team.caller.store(number, Ordering::Relaxed);
        team.begin();
        Some(team)
    }));
    set_errno(errno);
    team.unwrap_or(None)
}

/// The region has ended: every thread of the team has left its function.
pub(super) fn leave(team: &'static Team) {
    let now = ticks();
    team.end(now);
    // In a forked child, a thread that is not there may hold the lock.
    if process::state() != ProcessState::Recording {
        return;
    }
    let errno = errno();
    let _ = catch_unwind(AssertUnwindSafe(|| region_recorder::record(team, now)));
    set_errno(errno);
}

/// The runtime keeps `errno`; writing records does not.
fn errno() -> libc::c_int {
    // SAFETY: a variable of this thread.
    unsafe { *libc::__errno_location() }
}

fn set_errno(errno: libc::c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
