//! The time in a collective operation of all with all after everyone has come.

use sintonia_recording::deed::Purpose;

use super::wait_at_nxn::is_nxn;
use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "nxn_completion",
    name: "slow end of all-with-all",
    help: "After everyone had come to an operation of all with all and the first had left, some ranks needed longer to leave: much data, \
           more ranks than cores, or a slow network.",
    find: Find::Meeting(find),
};

/// From the first one's leaving to leaving.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::Collective(pattern) if is_nxn(pattern));
    applies.then(|| meets.completion())?
}
