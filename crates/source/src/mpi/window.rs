//! One-sided communication, in which the target process does not take part.

use sintonia_formula::Formula;

use super::calls::MpiCall;
use super::executor::SymbolicExecutor;
use super::process_step::ProcessStep;
use super::role_trace::message_term;
use super::value::SymbolicValue;

#[derive(Clone, Copy, PartialEq, Eq)]
enum TransferDirection {
    ToTarget,
    ToOrigin,
}

impl SymbolicExecutor<'_, '_> {
    /// A call that accesses or creates a window; a window is represented by its communicator.
    pub(super) fn window_call(&mut self, call: &MpiCall) -> bool {
        match call.name {
            "Win_create" => self.create_window(call, 4, 5),
            "Win_allocate" | "Win_allocate_shared" => self.create_window(call, 3, 5),
            "Win_create_dynamic" => self.create_window(call, 1, 2),
            "Put" | "Rput" => self.one_sided_transfer(call, Some(1), [2, 3, 7], TransferDirection::ToTarget),
            "Accumulate" | "Raccumulate" => self.one_sided_transfer(call, Some(1), [2, 3, 8], TransferDirection::ToTarget),
            "Get" | "Rget" => self.one_sided_transfer(call, Some(1), [2, 3, 7], TransferDirection::ToOrigin),
            "Get_accumulate" | "Rget_accumulate" => {
                self.one_sided_transfer(call, Some(1), [2, 6, 11], TransferDirection::ToTarget);
                self.one_sided_transfer(call, Some(4), [5, 6, 11], TransferDirection::ToOrigin);
            }
            "Fetch_and_op" => {
                self.one_sided_transfer(call, None, [2, 3, 6], TransferDirection::ToTarget);
                self.one_sided_transfer(call, None, [2, 3, 6], TransferDirection::ToOrigin);
            }
            "Compare_and_swap" => {
                self.one_sided_transfer(call, None, [3, 4, 6], TransferDirection::ToTarget);
                self.one_sided_transfer(call, None, [3, 4, 6], TransferDirection::ToOrigin);
            }
            _ => return false,
        }
        true
    }

    fn create_window(&mut self, call: &MpiCall, communicator: usize, window: usize) {
        let group = call.values.get(communicator).cloned().unwrap_or(SymbolicValue::Unknown);
        self.invalidate_arguments(&call.values);
        self.write_argument(call, window, group);
    }

    /// A one-sided transfer; the argument positions are datatype, target rank and window. Without a count it is one element.
    fn one_sided_transfer(&mut self, call: &MpiCall, count: Option<usize>, [datatype, peer, window]: [usize; 3], way: TransferDirection) {
        let elements = count.map_or(Formula::one(), |count| self.number_at(call, count, "count"));
        let bytes = elements * self.size_at(call, datatype);
        if way == TransferDirection::ToOrigin {
            self.invalidate_arguments(&call.values);
        }
        let Some(message) = self.peer_message(call, way == TransferDirection::ToTarget, bytes, peer, window) else { return };
        // The target does not take part, so there is no other end to match.
        self.emit(ProcessStep::Local(message_term(&self.role, &message)));
    }
}
