//! The start of MPI after everyone has come.

use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "init_completion",
    name: "slow end of MPI_Init",
    help: "After the first rank had left MPI_Init, others needed longer. It happens once per run; where it takes long, look at the \
           launcher and at how the program's files reach the nodes.",
    find: Find::Meeting(find),
};

/// From the first one's leaving to leaving.
fn find(meets: &Meets) -> Option<Found> {
    (meets.meeting.purpose == Purpose::Init).then(|| meets.completion())?
}
