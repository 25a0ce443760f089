//! How a collective is simulated on a machine: as the machine file or the user says, else as its MPI library would.

use sintonia_collective::{AlgorithmNameError, CollectiveAlgorithm, LibraryRules, UnknownLibrary, choose_algorithm, unit_bytes};
use sintonia_machine::CollectiveKind;
use sintonia_mpi::CollectiveOp;
use sintonia_recording::comm_event::GroupOp;

use crate::changes::{CollectiveModel, ReplayChanges};
use crate::platform::{self, Platform};
use crate::schedule::{CollectiveAction, SendMode};

/// Simulation plan of a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CollectivePlan {
    /// A fixed number of seconds after the ranks it depends on have arrived.
    FixedCost(f64),
    /// Rounds of messages.
    Rounds(CollectiveAlgorithm, CollectiveOp),
}

/// Plans a collective on these ranks.
pub(crate) fn plan_collective(
    platform: &Platform,
    changes: &ReplayChanges,
    call: &CollectiveAction,
    ranks: &[u32],
    is_intercommunicator: bool,
    rank: u32,
) -> CollectivePlan {
    let members = ranks.len() as u32;
    let GroupOp::Collective(op) = call.op else { return CollectivePlan::FixedCost(sync_cost(platform, call.op, ranks, rank)) };
    if members < 2 {
        return CollectivePlan::FixedCost(0.0);
    }
    if op.is_neighborhood() {
        return CollectivePlan::Rounds(CollectiveAlgorithm::Pairwise, op);
    }
    let bytes = unit_bytes(op, members, call.sent, call.received);
    let collective = platform::machine_collective(call.op);
    let model = collective.and_then(|collective| changes.algorithms.get(&collective)).or(changes.default_algorithm.as_ref());
    match model.copied().unwrap_or_else(|| configured_model(platform, collective, op, members)) {
        _ if is_intercommunicator => CollectivePlan::FixedCost(closed_form_cost(platform, call.op, ranks, rank, bytes)),
        CollectiveModel::ClosedForm => CollectivePlan::FixedCost(closed_form_cost(platform, call.op, ranks, rank, bytes)),
        CollectiveModel::Algorithm(algorithm) if algorithm.supports(op) => CollectivePlan::Rounds(algorithm, op),
        // Given for a similar collective, but does not support this one.
        CollectiveModel::Algorithm(_) => library_plan(machine_library(platform), op, members, bytes),
        CollectiveModel::Library(library) => library_plan(library, op, members, bytes),
    }
}

fn library_plan(library: LibraryRules, op: CollectiveOp, members: u32, bytes: u64) -> CollectivePlan {
    choose_algorithm(Some(library), op, members, bytes)
        .map_or(CollectivePlan::FixedCost(0.0), |algorithm| CollectivePlan::Rounds(algorithm, op))
}

/// The MPI library the machine was measured with; Open MPI if unknown.
fn machine_library(platform: &Platform) -> LibraryRules {
    platform.machine().metadata.mpi.as_deref().and_then(LibraryRules::from_version_string).unwrap_or(LibraryRules::OpenMpi)
}

/// Model from the machine file; by default measured times, else the library's selection.
fn configured_model(platform: &Platform, collective: Option<CollectiveKind>, op: CollectiveOp, members: u32) -> CollectiveModel {
    let machine = platform.machine();
    let named = collective.and_then(|collective| machine.collective_algorithms.algorithms.get(&collective));
    if let Some(model) = named.and_then(|name| parse_model(name, op).ok()) {
        return model;
    }
    if let Some(model) = machine.collective_algorithms.library.as_deref().and_then(|name| parse_global_model(name).ok()) {
        return model;
    }
    let measured = collective.and_then(|collective| machine.collective_cost(collective)).is_some_and(|group| {
        // Far beyond the measured sizes, simulating messages is more accurate.
        group.timings.last().is_some_and(|at| at.processes * 2 >= u64::from(members))
    });
    if measured && !platform.has_shared_links() { CollectiveModel::ClosedForm } else { CollectiveModel::Library(machine_library(platform)) }
}

/// Parses `closed`, a library, or an algorithm that implements the collective.
pub(crate) fn parse_model(name: &str, op: CollectiveOp) -> Result<CollectiveModel, AlgorithmNameError> {
    parse_global_model(name).or_else(|_| CollectiveAlgorithm::from_name(name, op).map(CollectiveModel::Algorithm))
}

/// Parses what applies to all collectives: `closed`, or a library.
pub(crate) fn parse_global_model(name: &str) -> Result<CollectiveModel, UnknownLibrary> {
    if name == "closed" { Ok(CollectiveModel::ClosedForm) } else { LibraryRules::from_name(name).map(CollectiveModel::Library) }
}

/// The MPI collective of a machine-file entry.
pub(crate) fn op_of_collective(collective: CollectiveKind) -> CollectiveOp {
    match collective {
        CollectiveKind::Barrier => CollectiveOp::Barrier,
        CollectiveKind::Bcast => CollectiveOp::Broadcast,
        CollectiveKind::Reduce => CollectiveOp::Reduce,
        CollectiveKind::Allreduce => CollectiveOp::Allreduce,
        CollectiveKind::Gather => CollectiveOp::Gather,
        CollectiveKind::Scatter => CollectiveOp::Scatter,
        CollectiveKind::Allgather => CollectiveOp::Allgather,
        CollectiveKind::Alltoall => CollectiveOp::Alltoall,
        CollectiveKind::ReduceScatterBlock => CollectiveOp::ReduceScatterBlock,
        CollectiveKind::Scan => CollectiveOp::Scan,
    }
}

/// Measured time, else a formula for a good tree.
fn closed_form_cost(platform: &Platform, group_op: GroupOp, ranks: &[u32], rank: u32, bytes: u64) -> f64 {
    let members = ranks.len() as u32;
    if let Some(seconds) = platform.measured_collective(group_op, members, bytes) {
        return seconds;
    }
    let rounds = f64::from(u32::BITS - members.saturating_sub(1).leading_zeros());
    let far = ranks.iter().copied().find(|other| platform.leaves_node(rank, *other));
    let to = far.or_else(|| ranks.iter().copied().find(|other| *other != rank)).unwrap_or(rank);
    let message = |bytes: u64| {
        let cost = platform.message_cost(rank, to, bytes, SendMode::Standard);
        cost.transfer_time() + cost.receive
    };
    use CollectiveOp::*;
    match group_op {
        GroupOp::Collective(Alltoall | Alltoallv | Alltoallw) => f64::from(members - 1) * message(bytes),
        GroupOp::Collective(Allgather | Allgatherv | Gather | Gatherv | Scatter | Scatterv | ReduceScatter | ReduceScatterBlock) => {
            rounds * message(0) + (message(bytes.saturating_mul(u64::from(members) - 1)) - message(0)).max(0.0)
        }
        _ => rounds * message(bytes),
    }
}

/// Communicator and window creation, file open: about as expensive as a barrier.
fn sync_cost(platform: &Platform, group_op: GroupOp, ranks: &[u32], rank: u32) -> f64 {
    match group_op {
        GroupOp::FileAccess | GroupOp::Init | GroupOp::Finalize => 0.0,
        _ if ranks.len() < 2 => 0.0,
        _ => closed_form_cost(platform, GroupOp::Collective(CollectiveOp::Barrier), ranks, rank, 0),
    }
}

/// Whether the collective has a root.
pub(crate) fn has_root(group_op: GroupOp) -> bool {
    use CollectiveOp::*;
    matches!(group_op, GroupOp::Collective(Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv))
}
