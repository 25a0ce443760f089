//! Early scan: a rank waits in a prefix reduction for lower ranks.

use sintonia_mpi::CollectiveOp::{Exscan, Scan};
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "early_scan",
    name: "early scan",
    help: "A rank waited in MPI_Scan or MPI_Exscan for a lower rank of the communicator, or for another rank that the \
           library's algorithm made it wait for. Balance the preceding work, or order the ranks so \
           that those with less work come first.",
    find: PatternMatcher::Collective(find),
};

/// From entering the operation to the entry of the last lower rank, or of the last one that the library's algorithm made it wait for.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::Collective(Scan | Exscan));
    let last = collective.dependency.filter(|_| applies)?.last;
    collective.wait_for(last)
}
