//! An access to a window that waits for the window to be opened.

use super::{Accesses, Find, Found, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "late_post",
    name: "late opening of a window",
    help: "A rank wanted to access the window of another, which had not opened it yet (MPI_Win_post). Where it waits depends on the MPI \
           library: in MPI_Win_start, at the first access or in MPI_Win_complete. Open windows earlier (MPI_Win_post does not wait), or \
           give the rank that accesses something to compute before MPI_Win_start.",
    find: Find::Access(find),
};

/// From entering the call that was under way when the window was opened, to the opening.
fn find(accesses: &Accesses) -> Option<Found> {
    Found::some(accesses.scene.until(accesses.access.post_enter), accesses.access.post)
}
