//! A rank that waits for another to say that its accesses have ended.

use super::{Find, Found, Pattern, Waits};

pub const PATTERN: Pattern = Pattern {
    kind: "late_complete",
    name: "late end of accesses",
    help: "A rank waited in MPI_Win_wait for another that had made its last access to the window, but did other things before it said so \
           with MPI_Win_complete. Call MPI_Win_complete right after the last access.",
    find: Find::Waits(find),
};

/// From entering the wait to the end of the accesses; the time until the last of them counts as an early wait.
fn find(waits: &Waits) -> Option<Found> {
    Found::some(waits.scene.until(waits.last.complete_enter), waits.last.complete)
}
