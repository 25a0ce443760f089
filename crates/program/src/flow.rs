//! Messages from one rank to another, and how to read them off the calls.

use sintonia_mpi::Role;
use sintonia_recording::table::{Shape, Totals};

/// Messages of one size from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The rank that the data leaves.
    pub from: i32,
    /// The rank that the data reaches.
    pub to: i32,
    /// How many messages.
    pub messages: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

impl Flow {
    /// Whether both ends are processes of the recording, and not the same one.
    pub fn is_between_ranks(&self) -> bool {
        self.from >= 0 && self.to >= 0 && self.from != self.to
    }
}

/// The messages that calls of this shape send: point to point, counted by the sender, and one-sided, counted by the origin.
pub(crate) fn sent(rank: u32, shape: &Shape, totals: &Totals) -> Vec<Flow> {
    let (here, there, messages) = (rank as i32, shape.peer, totals.calls);
    let out = Flow { from: here, to: there, messages, bytes: totals.sent };
    let back = Flow { from: there, to: here, messages, bytes: totals.received };
    match shape.operation.role() {
        Role::Send | Role::SendReceive | Role::Put => vec![out],
        Role::Get => vec![back],
        Role::Exchange => vec![out, back],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{calls, shape};

    fn flow(from: i32, to: i32, messages: u64, bytes: u64) -> Flow {
        Flow { from, to, messages, bytes }
    }

    #[test]
    fn sends_are_counted_at_the_sender_and_one_sided_transfers_at_the_origin() {
        let count = |name| {
            let (shape, totals) = calls(shape(name).peer(3).sent(10).received(20), 5);
            sent(1, &shape, &totals)
        };
        for name in ["MPI_Send", "MPI_Issend", "MPI_Sendrecv", "MPI_Rput", "MPI_Accumulate"] {
            assert_eq!(count(name), [flow(1, 3, 5, 50)], "{name}");
        }
        assert_eq!(count("MPI_Get"), [flow(3, 1, 5, 100)]);
        assert_eq!(count("MPI_Fetch_and_op"), [flow(1, 3, 5, 50), flow(3, 1, 5, 100)]);
        for name in ["MPI_Recv", "MPI_Waitall", "MPI_Bcast", "MPI_File_write"] {
            assert_eq!(count(name), [], "{name}");
        }
    }
}
