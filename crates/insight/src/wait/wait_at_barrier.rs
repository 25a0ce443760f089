//! A barrier that waits for the last rank.

use sintonia_mpi::Pattern::Barrier;
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_barrier",
    name: "wait at a barrier",
    help: "Ranks waited in a barrier for the last one to come. Where the barrier only separates phases, try without it: most \
           programs are right without. Otherwise look at what the last rank did before: it had more to do, or was held up itself.",
    find: Find::Meeting(find),
};

/// From entering the barrier to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && meets.meeting.purpose == Purpose::Collective(Barrier);
    applies.then(|| meets.for_the_last())?
}
