//! A rank that waits for the end of the accesses to its window while they go on.

use super::{Find, Found, Pattern, Waits};

pub const PATTERN: Pattern = Pattern {
    kind: "early_wait",
    name: "early wait for accesses",
    help: "A rank waited in MPI_Win_wait while another had not finished accessing its window. Let the accesses begin earlier, or compute \
           something between MPI_Win_post and MPI_Win_wait (or look now and then with MPI_Win_test).",
    find: Find::Waits(find),
};

/// From entering the wait to the end of the last access, by the rank that ended its accesses last; what follows is a late complete.
fn find(waits: &Waits) -> Option<Found> {
    Found::some(waits.scene.until(waits.last.accessed_until.min(waits.last.complete_enter)), waits.last.complete)
}
