//! A wait for a partitioned message whose last partition was made ready late.

use super::{Find, Found, Pattern, Receives};

pub const PATTERN: Pattern = Pattern {
    kind: "wait_at_partitioned",
    name: "late partition",
    help: "A receive in partitions waited for the last partition to be made ready (MPI_Pready). One slow partition holds up the whole \
           message: share the work behind the partitions evenly, or look at single partitions with MPI_Parrived and use those that are there.",
    find: Find::Receives(find),
};

/// From entering the wait to the call that made the last partition ready.
fn find(receives: &Receives) -> Option<Found> {
    let last = receives.last().filter(|last| last.partitioned)?;
    Found::some(receives.scene.until(last.send_enter), last.sender)
}
