//! A rank that waits in a scan for those before it.

use sintonia_mpi::Pattern::{Exscan, Scan};
use sintonia_recording::deed::Purpose;

use super::{Find, Found, Meets, Pattern};

pub const PATTERN: Pattern = Pattern {
    kind: "early_scan",
    name: "early scan",
    help: "A rank waited in MPI_Scan or MPI_Exscan for one that comes before it in the group. Share the work before more evenly, or order the \
           ranks so that those with less work come first.",
    find: Find::Meeting(find),
};

/// From entering the scan to the entering of the last of those before.
fn find(meets: &Meets) -> Option<Found> {
    let applies = meets.blocking && matches!(meets.meeting.purpose, Purpose::Collective(Scan | Exscan));
    let last = meets.before.filter(|_| applies)?.last;
    meets.wait_for(last)
}
