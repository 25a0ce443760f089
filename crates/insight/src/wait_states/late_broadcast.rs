//! Late broadcast: ranks wait for the root of a 1-to-N collective.

use sintonia_mpi::CollectiveOp::{Broadcast, Scatter, Scatterv};
use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "late_broadcast",
    name: "late broadcast",
    help: "Ranks waited in MPI_Bcast or MPI_Scatter for the root, which provides the data. Let the root enter earlier, give it less other \
           work, or use a nonblocking collective and compute what does not need the data.",
    find: PatternMatcher::Collective(find),
};

/// From entering the operation to the root's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && !collective.is_root;
    let from_one = matches!(collective.instance.op, GroupOp::Collective(Broadcast | Scatter | Scatterv));
    if applies && from_one { collective.wait_for(collective.instance.root) } else { None }
}
