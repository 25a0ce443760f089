//! What an MPI function spends its time on.

use sintonia_mpi::FunctionRole;

/// Whether a function can take a long time.
pub(crate) fn takes_time(role: FunctionRole) -> bool {
    waits(role) || sends(role) || role.is_file() || role.is_one_sided()
}

/// Whether a function waits for other ranks.
pub(crate) fn waits(role: FunctionRole) -> bool {
    matches!(
        role,
        FunctionRole::Receive
            | FunctionRole::SendReceive
            | FunctionRole::Probe
            | FunctionRole::MatchedProbe
            | FunctionRole::MatchedReceive
            | FunctionRole::CompleteOne
            | FunctionRole::CompleteAll
            | FunctionRole::CompleteAny
            | FunctionRole::CompleteSome
            | FunctionRole::Collective(_)
            | FunctionRole::WindowSync
    )
}

/// Whether a function sends messages, or starts to.
pub(crate) fn sends(role: FunctionRole) -> bool {
    matches!(role, FunctionRole::Send | FunctionRole::Start | FunctionRole::StartAll)
}
