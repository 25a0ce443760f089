//! Kinds of activity, which a timeline shows in different colours.

use sintonia_mpi::FunctionRole;

pub(crate) const KIND_COUNT: usize = 9;

/// What a rank is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ActivityKind {
    /// Before the end of `MPI_Init`, after the start of `MPI_Finalize`, and where nothing is known.
    Absent,
    /// Not in MPI.
    Computing,
    /// Starts or executes a send.
    Sending,
    /// Starts or executes a receive, or a combined send and receive.
    Receiving,
    /// Waits, tests and probes.
    Completing,
    /// Collectives and communicator functions.
    Collective,
    /// RMA windows.
    OneSided,
    /// MPI-IO.
    Files,
    /// Everything else.
    Other,
}

impl ActivityKind {
    /// Display names, by discriminant.
    pub(crate) const NAMES: [&'static str; KIND_COUNT] =
        ["absent", "computing", "sending", "receiving", "completing", "collective", "one-sided", "files", "other"];

    /// The kind of a call; [`ActivityKind::Absent`] for initialisation and finalisation of MPI.
    pub(crate) fn from_role(role: FunctionRole) -> ActivityKind {
        match role {
            FunctionRole::Init | FunctionRole::Finalize => ActivityKind::Absent,
            // A persistent request can be either; the requests started are mostly pairs of sends and receives.
            FunctionRole::Send | FunctionRole::Start | FunctionRole::StartAll | FunctionRole::PartitionReady => ActivityKind::Sending,
            FunctionRole::Receive | FunctionRole::SendReceive | FunctionRole::MatchedReceive => ActivityKind::Receiving,
            FunctionRole::Probe | FunctionRole::MatchedProbe | FunctionRole::PartitionArrived => ActivityKind::Completing,
            FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
                ActivityKind::Completing
            }
            FunctionRole::Collective(_) | FunctionRole::CommunicatorCreate | FunctionRole::CommunicatorFree => ActivityKind::Collective,
            FunctionRole::Put
            | FunctionRole::Get
            | FunctionRole::Exchange
            | FunctionRole::WindowCreate
            | FunctionRole::WindowFree
            | FunctionRole::WindowSync => ActivityKind::OneSided,
            FunctionRole::FileOpen
            | FunctionRole::FileClose
            | FunctionRole::FileRead
            | FunctionRole::FileWrite
            | FunctionRole::FileOther => ActivityKind::Files,
            FunctionRole::RequestFree
            | FunctionRole::Cancel
            | FunctionRole::RequestCreate
            | FunctionRole::Datatype
            | FunctionRole::DatatypeFree => ActivityKind::Other,
            FunctionRole::SessionInit
            | FunctionRole::SessionFinalize
            | FunctionRole::Abort
            | FunctionRole::Switch
            | FunctionRole::Local
            | FunctionRole::Other => ActivityKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FunctionId;

    #[test]
    fn functions_have_the_expected_kind() {
        let kind = |name: &str| ActivityKind::from_role(FunctionId::from_name(name).unwrap().role());
        let expected = [
            ("MPI_Init_thread", ActivityKind::Absent),
            ("MPI_Isend", ActivityKind::Sending),
            ("MPI_Sendrecv", ActivityKind::Receiving),
            ("MPI_Waitall", ActivityKind::Completing),
            ("MPI_Iprobe", ActivityKind::Completing),
            ("MPI_Allreduce", ActivityKind::Collective),
            ("MPI_Comm_split", ActivityKind::Collective),
            ("MPI_Win_fence", ActivityKind::OneSided),
            ("MPI_File_write_all", ActivityKind::Files),
            ("MPI_Pcontrol", ActivityKind::Other),
        ];
        for (name, expected) in expected {
            assert_eq!(kind(name), expected, "{name}");
        }
        assert_eq!(ActivityKind::NAMES[ActivityKind::Other as usize], "other");
    }
}
