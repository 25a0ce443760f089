//! What the communication matrix needs of a call: calls with the same key can be added up.

use serde::{Deserialize, Serialize};
use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_recording::call_table::{CallDescriptor, DescriptorTotals};
use sintonia_recording::raw;

use crate::activity::moves_data_itself;

/// The messages that calls stand for. Sizes are those of one call; for messages to one rank they do not matter, and are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrafficKey {
    function: u16,
    /// The communicator of a collective.
    object: u32,
    /// The destination, target or root.
    peer: i32,
    sent: u64,
    received: u64,
}

/// Sums over calls with the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficSums {
    /// Number of calls.
    pub calls: u64,
    /// Bytes of messages to or from one rank, as [`TrafficKey::of_call`] gives them.
    pub bytes: u64,
}

impl TrafficKey {
    /// The key of a call and its bytes; `None` if it sends nothing, or if it starts persistent requests.
    pub fn of_call(descriptor: &CallDescriptor) -> Option<(TrafficKey, u64)> {
        if !moves_data_itself(descriptor) {
            return None;
        }
        let CallDescriptor { function, object, peer, sent, received, .. } = *descriptor;
        let to_one = TrafficKey { function: function.0, object: raw::NO_OBJECT, peer, sent: 0, received: 0 };
        match function.role() {
            FunctionRole::Send | FunctionRole::SendReceive | FunctionRole::Put => Some((to_one, raw::bytes_or_zero(sent))),
            FunctionRole::Get => Some((to_one, raw::bytes_or_zero(received))),
            FunctionRole::Exchange => Some((TrafficKey { sent, received, ..to_one }, 0)),
            FunctionRole::Collective(_) => Some((TrafficKey { function: function.0, object, peer, sent, received }, 0)),
            _ => None,
        }
    }

    /// The totals of calls with this key.
    fn totals_of(self, sums: TrafficSums, function: FunctionId) -> DescriptorTotals {
        let of_size = |bytes: u64| raw::bytes_or_zero(bytes).saturating_mul(sums.calls);
        let (sent, received) = match function.role() {
            FunctionRole::Send | FunctionRole::SendReceive | FunctionRole::Put => (sums.bytes, 0),
            FunctionRole::Get => (0, sums.bytes),
            _ => (of_size(self.sent), of_size(self.received)),
        };
        DescriptorTotals { calls: sums.calls, sent, received, ..DescriptorTotals::default() }
    }

    /// A descriptor and totals that stand for calls with this key; `None` without calls, and for an unknown function.
    pub(crate) fn totals(self, sums: TrafficSums) -> Option<(CallDescriptor, DescriptorTotals)> {
        let function = FunctionId::from_index(self.function).filter(|_| sums.calls > 0)?;
        let TrafficKey { object, peer, sent, received, .. } = self;
        Some((CallDescriptor { object, peer, sent, received, ..CallDescriptor::new(function) }, self.totals_of(sums, function)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_flow::{MessageFlow, sent_flows};
    use sintonia_recording::testing::{call, descriptor_totals};

    #[test]
    fn the_sums_stand_for_the_same_messages_as_the_calls() {
        for name in ["MPI_Send", "MPI_Isend", "MPI_Sendrecv", "MPI_Put", "MPI_Get", "MPI_Fetch_and_op"] {
            let (descriptor, totals) = descriptor_totals(call(name).peer(3).sent(10).received(20), 5);
            let (key, bytes) = TrafficKey::of_call(&descriptor).expect(name);
            let (like, sums) = key.totals(TrafficSums { calls: 5, bytes: 5 * bytes }).expect(name);
            let flows = |descriptor, totals| -> Vec<MessageFlow> { sent_flows(1, descriptor, totals) };
            assert_eq!(flows(&like, &sums), flows(&descriptor, &totals), "{name}");
        }
        for name in ["MPI_Recv", "MPI_Wait", "MPI_Send_init", "MPI_Start"] {
            assert_eq!(TrafficKey::of_call(&descriptor_totals(call(name).peer(3).sent(10), 1).0), None, "{name}");
        }
    }
}
