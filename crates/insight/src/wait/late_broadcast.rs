//! A rank that waits for the root of an operation from one to all.

use sintonia_mpi::Pattern::{Broadcast, Scatter, Scatterv};
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "late_broadcast",
    name: "late broadcast",
    help: "Ranks waited in MPI_Bcast or MPI_Scatter for the root, which has the data. Let the root come earlier, give it less other work, \
           or start the operation nonblocking and compute what does not need the data.",
    find: Find::Meeting(find),
};

/// From entering the operation to the root's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && !meets.is_root;
    let from_one = matches!(meets.meeting.purpose, Purpose::Collective(Broadcast | Scatter | Scatterv));
    if applies && from_one { meets.wait_for(meets.meeting.root) } else { None }
}
