//! N-to-N completion: the time in an N-to-N collective after the first rank has left it.

use sintonia_recording::comm_event::GroupOp;

use super::wait_at_nxn::is_nxn;
use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "nxn_completion",
    name: "N-to-N completion",
    help: "After all ranks had entered an N-to-N collective and the first had left it, some ranks needed longer to leave: much data, \
           oversubscribed cores, or a slow network.",
    find: PatternMatcher::Collective(find),
};

/// From the first exit to the own exit.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    let applies = collective.blocking && matches!(collective.instance.op, GroupOp::Collective(pattern) if is_nxn(pattern));
    applies.then(|| collective.completion())?
}
