//! What a call depends on in the collective that it completes: the other members that had to enter before it could leave.
//!
//! The semantics of MPI say which members an operation needs. What [`member_dependencies`](super::member_dependencies) found about the
//! algorithm and from the times of the calls comes first.

use sintonia_mpi::CollectiveOp;
use sintonia_recording::comm_event::GroupOp;

use super::neighbour_topology::is_neighbourhood_op;
use super::{CollectiveCall, CollectiveInstance, Location};

/// What a member of a collective depends on before it can leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberDependency {
    /// All members.
    All,
    /// The root.
    Root,
    /// Lower ranks, or its neighbours.
    Subset,
    /// One member: the last to enter of those for which its algorithm makes it wait.
    Member,
    /// No other member.
    None,
}

/// What a call depends on in the collective it completes. A call that left before the others entered did not depend on them: there was no
/// data, or the library does not synchronise there. Only a barrier always synchronises; leaving it early is a clock error.
pub(crate) fn call_dependency(location: &Location, collective: &CollectiveCall, instance_id: &CollectiveInstance) -> MemberDependency {
    if location.dependency(collective).is_some_and(|dependency| dependency.only_last) {
        return MemberDependency::Member;
    }
    let dependency = member_dependency(instance_id.op, instance_id.root.0 == location.call_id(collective.row));
    let came = match dependency {
        MemberDependency::All => Some(instance_id.last.1),
        MemberDependency::Root => Some(instance_id.root.1),
        MemberDependency::Subset => location.dependency(collective).map(|before| before.last.1),
        MemberDependency::Member | MemberDependency::None => None,
    };
    let left = location.calls.leave.get(collective.completion as usize);
    let left_before = came.zip(left).is_some_and(|(came, left)| *left < came);
    if left_before && instance_id.op != GroupOp::Collective(CollectiveOp::Barrier) { MemberDependency::None } else { dependency }
}

/// What a member of a collective depends on, by the semantics of MPI.
pub fn member_dependency(op: GroupOp, is_root: bool) -> MemberDependency {
    use CollectiveOp::*;
    match op {
        GroupOp::Collective(Broadcast | Scatter | Scatterv) => {
            if is_root {
                MemberDependency::None
            } else {
                MemberDependency::Root
            }
        }
        GroupOp::Collective(Reduce | Gather | Gatherv) => {
            if is_root {
                MemberDependency::All
            } else {
                MemberDependency::None
            }
        }
        GroupOp::Collective(Scan | Exscan) => MemberDependency::Subset,
        op if is_neighbourhood_op(op) => MemberDependency::Subset,
        GroupOp::Collective(_)
        | GroupOp::CommunicatorCreate
        | GroupOp::WindowCreate
        | GroupOp::WindowFree
        | GroupOp::Fence
        | GroupOp::FileAccess => MemberDependency::All,
        GroupOp::Init | GroupOp::Finalize => MemberDependency::None,
    }
}
