//! Messages from one rank to another, derived from call totals.

use sintonia_mpi::FunctionRole;
use sintonia_recording::call_table::{CallDescriptor, DescriptorTotals};

/// Equally sized messages from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFlow {
    /// Source rank.
    pub from: i32,
    /// Destination rank.
    pub to: i32,
    /// Number of messages.
    pub messages: u64,
    /// Total bytes.
    pub bytes: u64,
}

impl MessageFlow {
    /// Whether both ends are distinct ranks of the recording.
    pub fn is_between_ranks(&self) -> bool {
        self.from >= 0 && self.to >= 0 && self.from != self.to
    }
}

/// The messages sent by calls with this descriptor: point to point, counted by the sender; one-sided, counted by the origin.
pub(crate) fn sent_flows(rank: u32, descriptor: &CallDescriptor, totals: &DescriptorTotals) -> Vec<MessageFlow> {
    let (own_index, there, messages) = (rank as i32, descriptor.peer, totals.calls);
    let out = MessageFlow { from: own_index, to: there, messages, bytes: totals.sent };
    let back = MessageFlow { from: there, to: own_index, messages, bytes: totals.received };
    match descriptor.function.role() {
        FunctionRole::Send | FunctionRole::SendReceive | FunctionRole::Put => vec![out],
        FunctionRole::Get => vec![back],
        FunctionRole::Exchange => vec![out, back],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::testing::{call, descriptor_totals};

    fn flow(from: i32, to: i32, messages: u64, bytes: u64) -> MessageFlow {
        MessageFlow { from, to, messages, bytes }
    }

    #[test]
    fn sends_are_counted_at_the_sender_and_one_sided_transfers_at_the_origin() {
        let count = |name| {
            let (shape, totals) = descriptor_totals(call(name).peer(3).sent(10).received(20), 5);
            sent_flows(1, &shape, &totals)
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
