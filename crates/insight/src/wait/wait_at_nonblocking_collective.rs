//! A wait that completes a nonblocking or persistent collective operation which others joined late.

use sintonia_mpi::Pattern::{Broadcast, Exscan, Gather, Gatherv, Reduce, Scan, Scatter, Scatterv};
use sintonia_program::history::is_among_neighbours;
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_nonblocking_collective",
    name: "late start of collective",
    help: "A wait for a nonblocking collective operation (MPI_Iallreduce, MPI_Ibcast ...) was entered before everyone it needs had even \
           begun the operation. Begin it earlier on the late ranks, or compute more between beginning and waiting.",
    find: Find::Meeting(find),
};

/// From entering the wait to the beginning of the operation by the last one whose data is needed.
fn find(meets: &Meets) -> Option<Found> {
    if meets.blocking || is_among_neighbours(meets.meeting.purpose) {
        return None;
    }
    let needed = match meets.meeting.purpose {
        Purpose::Collective(Broadcast | Scatter | Scatterv) if meets.is_root => return None,
        Purpose::Collective(Broadcast | Scatter | Scatterv) => meets.meeting.root,
        Purpose::Collective(Reduce | Gather | Gatherv) if !meets.is_root => return None,
        Purpose::Collective(Scan | Exscan) => meets.before?.last,
        Purpose::Collective(_) | Purpose::Communicator | Purpose::File => meets.meeting.last,
        _ => return None,
    };
    meets.wait_for(needed)
}
