//! The end of MPI, where everyone waits for the last rank.

use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_finalize",
    name: "wait at MPI_Finalize",
    help: "Ranks had nothing left to do and waited in MPI_Finalize for the last one. The work at the end of the program is unevenly shared.",
    find: Find::Meeting(find),
};

/// From entering the call to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::Finalize);
    applies.then(|| meets.for_the_last())?
}
