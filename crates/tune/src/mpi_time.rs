//! What kind of time a function of MPI takes.

use sintonia_mpi::Role;

/// Whether a function does anything that can take long.
pub fn takes_time(role: Role) -> bool {
    waits(role) || sends(role) || role.is_file() || role.is_one_sided()
}

/// Whether a function waits for others.
pub fn waits(role: Role) -> bool {
    matches!(
        role,
        Role::Receive
            | Role::SendReceive
            | Role::Probe
            | Role::MatchedProbe
            | Role::MatchedReceive
            | Role::CompleteOne
            | Role::CompleteAll
            | Role::CompleteAny
            | Role::CompleteSome
            | Role::Collective(_)
            | Role::WindowSync
    )
}

/// Whether a function sends messages, or begins to.
pub fn sends(role: Role) -> bool {
    matches!(role, Role::Send | Role::Start | Role::StartAll)
}
