//! The time in a barrier after everyone has come.

use sintonia_mpi::Pattern::Barrier;
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "barrier_completion",
    name: "slow end of a barrier",
    help: "After everyone had come to a barrier and the first had left, some ranks needed longer to leave: more ranks than cores, a rank \
           that was not scheduled, or a slow network.",
    find: Find::Meeting(find),
};

/// From the first one's leaving to leaving.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && meets.meeting.purpose == Purpose::Collective(Barrier);
    applies.then(|| meets.completion())?
}
