//! Late partition: a partitioned receive waits for the last MPI_Pready.

use super::{DetectedWait, PatternMatcher, ReceiveCompletion, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_partitioned",
    name: "late partition",
    help: "A partitioned receive waited for the last partition to be ready (MPI_Pready). One slow partition delays the whole message: \
           balance the work behind the partitions, or test single partitions with MPI_Parrived and use those that have arrived.",
    find: PatternMatcher::Receives(find),
};

/// From entering the wait to the last MPI_Pready.
fn find(receive: &ReceiveCompletion) -> Option<DetectedWait> {
    let last = receive.last().filter(|last| last.partitioned)?;
    DetectedWait::new(receive.call.wait_until(last.send_enter), last.sender)
}
