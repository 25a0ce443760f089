//! Wait at collective I/O: ranks wait for the last one to enter.

use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_collective_io",
    name: "wait at collective I/O",
    help: "Ranks waited for the last one to enter a collective I/O operation. Look at what the last rank did before; where no coordination \
           is needed, independent reads and writes do not wait.",
    find: PatternMatcher::Collective(find),
};

/// From entering the call to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::FileAccess);
    applies.then(|| collective.wait_for_last())?
}
