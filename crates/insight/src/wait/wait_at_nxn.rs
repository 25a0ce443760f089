//! A collective operation in which everyone needs everyone.

use sintonia_mpi::Pattern::{
    self as Collective, Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, ReduceScatter, ReduceScatterBlock,
};
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_nxn",
    name: "wait at all-with-all",
    help: "Ranks waited in an operation in which everyone needs data of everyone (MPI_Allreduce, MPI_Allgather, MPI_Alltoall and their kin) \
           for the last one to come. Look at what the last rank did before; or start the operation early (MPI_Iallreduce) and compute \
           what does not need its result.",
    find: Find::Meeting(find),
};

/// From entering the operation to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::Collective(pattern) if is_nxn(pattern));
    applies.then(|| meets.for_the_last())?
}

/// Whether everyone needs data of everyone; a barrier, which moves none, is a kind of its own.
pub fn is_nxn(pattern: Collective) -> bool {
    matches!(pattern, Allreduce | Allgather | Allgatherv | Alltoall | Alltoallv | Alltoallw | ReduceScatter | ReduceScatterBlock)
}
