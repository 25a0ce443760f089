//! A lock of a window that another rank holds.

use super::{Find, Found, Holds, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "lock_competition",
    name: "competition for a lock",
    help: "A rank waited for the lock of a window while another held it. Where it waits depends on the MPI library: in MPI_Win_lock, at an \
           access, in MPI_Win_flush or in MPI_Win_unlock. Hold locks shortly, share them where accesses do not disturb each other \
           (MPI_LOCK_SHARED, MPI_Accumulate), or spread the data over several windows or ranks.",
    find: Find::Hold(find),
};

/// From entering the call to the leaving of the call that gave the lock back before: that one also moves what is left to move, so the lock
/// is held until it ends.
fn find(holds: &Holds) -> Option<Found> {
    Found::some(holds.scene.until(holds.hold.earlier_span.1), holds.hold.earlier)
}
