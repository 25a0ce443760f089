//! A fence, which waits for the last rank.

use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_fence",
    name: "wait at a fence",
    help: "Ranks waited in MPI_Win_fence for the last one to come. A fence holds up everyone: where a rank only communicates with some \
           others, MPI_Win_post and MPI_Win_start, or locks, wait for those only.",
    find: Find::Meeting(find),
};

/// From entering the call to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::Fence);
    applies.then(|| meets.for_the_last())?
}
