//! A root that waits for the others in an operation from all to one.

use sintonia_mpi::Pattern::{Gather, Gatherv, Reduce};
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "early_reduce",
    name: "early reduce",
    help: "The root of MPI_Reduce or MPI_Gather waited for the last of the others to bring its data. Share the work before more evenly, \
           give the root more of it, or let it compute during MPI_Ireduce.",
    find: Find::Meeting(find),
};

/// On the root: from entering the operation to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let to_one = matches!(meets.meeting.purpose, Purpose::Collective(Reduce | Gather | Gatherv));
    if meets.blocking && meets.is_root && to_one { meets.for_the_last() } else { None }
}
