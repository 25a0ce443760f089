//! A collective operation of a neighbourhood, in which a rank needs its neighbours only.

use sintonia_program::history::is_among_neighbours;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_neighbour_collective",
    name: "wait at neighbours",
    help: "A rank waited in an operation with its neighbours (MPI_Neighbor_alltoall, MPI_Neighbor_allgather and their kin, or the wait for \
           a nonblocking one) for the last neighbour that sends to it. Share the work of neighbours more evenly, or begin the operation \
           nonblocking (MPI_Ineighbor_alltoall) and compute the inner part of the domain before waiting for it.",
    find: Find::Meeting(find),
};

/// From entering the operation, or the wait for it, to the entering of the last neighbour that sends to the rank.
fn find(meets: &Meets) -> Option<Found> {
    let last = meets.before.filter(|_| is_among_neighbours(meets.meeting.purpose))?.last;
    meets.wait_for(last)
}
