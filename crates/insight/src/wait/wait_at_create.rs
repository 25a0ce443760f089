//! Making a communicator or a window, which waits for the last rank.

use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_create",
    name: "wait at making a group",
    help: "Ranks waited for the last one where a communicator or a window is made, which all of them do together. Make it once, outside \
           of loops, and where all come at the same time.",
    find: Find::Meeting(find),
};

/// From entering the call to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::Communicator | Purpose::WindowCreate);
    applies.then(|| meets.for_the_last())?
}
