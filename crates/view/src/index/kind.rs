//! Kinds of activity: what a timeline shows in different colours.

use sintonia_mpi::Role;

/// How many kinds there are.
pub const KINDS: usize = 9;

/// What a rank does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Before `MPI_Init` is left, after `MPI_Finalize` is entered, and where nothing is known.
    Absent,
    /// Nothing of MPI.
    Computing,
    /// Begins a send, or sends.
    Sending,
    /// Begins a receive, or receives; also where it sends as well.
    Receiving,
    /// Waits or tests for what was begun; looks for messages.
    Completing,
    /// Collectives and communicators.
    Collective,
    /// Windows.
    OneSided,
    /// MPI-IO.
    Files,
    /// Everything else.
    Other,
}

impl Kind {
    /// Their names, by number.
    pub const NAMES: [&'static str; KINDS] =
        ["absent", "computing", "sending", "receiving", "completing", "collective", "one-sided", "files", "other"];

    /// The kind of a call; [`Kind::Absent`] for those that begin and end MPI.
    pub fn of(role: Role) -> Kind {
        match role {
            Role::Init | Role::Finalize => Kind::Absent,
            // A persistent request can be either; those that are started are mostly sends and receives in pairs.
            Role::Send | Role::Start | Role::StartAll | Role::PartitionReady => Kind::Sending,
            Role::Receive | Role::SendReceive | Role::MatchedReceive => Kind::Receiving,
            Role::Probe | Role::MatchedProbe | Role::PartitionArrived => Kind::Completing,
            Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => Kind::Completing,
            Role::Collective(_) | Role::CommunicatorCreate | Role::CommunicatorFree => Kind::Collective,
            Role::Put | Role::Get | Role::Exchange | Role::WindowCreate | Role::WindowFree | Role::WindowSync => Kind::OneSided,
            Role::FileOpen | Role::FileClose | Role::FileRead | Role::FileWrite | Role::FileOther => Kind::Files,
            Role::RequestFree | Role::Cancel | Role::RequestCreate | Role::Datatype | Role::DatatypeFree => Kind::Other,
            Role::SessionInit | Role::SessionFinalize | Role::Abort | Role::Switch | Role::Local | Role::Other => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;

    #[test]
    fn functions_have_the_kind_that_people_expect() {
        let kind = |name: &str| Kind::of(Operation::named(name).unwrap().role());
        let expected = [
            ("MPI_Init_thread", Kind::Absent),
            ("MPI_Isend", Kind::Sending),
            ("MPI_Sendrecv", Kind::Receiving),
            ("MPI_Waitall", Kind::Completing),
            ("MPI_Iprobe", Kind::Completing),
            ("MPI_Allreduce", Kind::Collective),
            ("MPI_Comm_split", Kind::Collective),
            ("MPI_Win_fence", Kind::OneSided),
            ("MPI_File_write_all", Kind::Files),
            ("MPI_Pcontrol", Kind::Other),
        ];
        for (name, expected) in expected {
            assert_eq!(kind(name), expected, "{name}");
        }
        assert_eq!(Kind::NAMES[Kind::Other as usize], "other");
    }
}
