//! MPI_Init completion: the time in MPI_Init after the first rank has left it.

use sintonia_recording::comm_event::GroupOp;

use super::{CollectiveCompletion, DetectedWait, PatternMatcher, WaitPattern};

pub(super) const PATTERN: WaitPattern = WaitPattern {
    kind: "init_completion",
    name: "MPI_Init completion",
    help: "After the first rank had left MPI_Init, others needed longer. It happens once per run; if it takes long, check the launcher and \
           how the program files reach the nodes.",
    find: PatternMatcher::Collective(find),
};

/// From the first exit to the own exit.
fn find(collective: &CollectiveCompletion) -> Option<DetectedWait> {
    (collective.instance.op == GroupOp::Init).then(|| collective.completion())?
}
