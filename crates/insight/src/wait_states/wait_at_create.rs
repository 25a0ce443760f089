//! Wait at create: creation of a communicator or window waits for the last rank.

use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "wait_at_create",
    name: "wait at creation",
    help: "Ranks waited for the last one in the creation of a communicator or window, which is collective. Create it once, outside of \
           loops, where all ranks arrive at the same time.",
    find: PatternMatcher::Collective(find),
};

/// From entering the call to the last rank's entry.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::CommunicatorCreate | GroupOp::WindowCreate);
    applies.then(|| collective.wait_for_last())?
}
