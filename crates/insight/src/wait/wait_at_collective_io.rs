//! An operation on a file that all ranks do together.

use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_collective_io",
    name: "wait at collective I/O",
    help: "Ranks waited for the last one at an operation on a file that all do together. Look at what the last rank did before; where no \
           agreement is needed, independent reads and writes do not wait.",
    find: Find::Meeting(find),
};

/// From entering the call to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::File);
    applies.then(|| meets.for_the_last())?
}
