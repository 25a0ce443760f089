//! Freeing a window, which waits for the last rank.

use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_free",
    name: "wait at freeing a window",
    help: "Ranks waited for the last one where a window is freed, which waits until nobody accesses it any more. Free windows at the end \
           of the program, where all come together anyway.",
    find: Find::Meeting(find),
};

/// From entering the call to the last one's entering it.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::WindowFree);
    applies.then(|| meets.for_the_last())?
}
