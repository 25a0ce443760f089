//! One-sided communication: a process reaches into the memory of another, which does nothing for it.

use sintonia_formula::Formula;

use super::calls::Call;
use super::join::message_from;
use super::step::Step;
use super::value::Value;
use super::walk::Walk;

/// Which way something goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

impl Walk<'_, '_> {
    /// A call that reaches into a window, or makes one: a window is known by the processes that have it.
    pub(super) fn window(&mut self, call: &Call) -> bool {
        match call.name {
            "Win_create" => self.open(call, 4, 5),
            "Win_allocate" | "Win_allocate_shared" => self.open(call, 3, 5),
            "Win_create_dynamic" => self.open(call, 1, 2),
            "Put" | "Rput" => self.reach(call, Some(1), [2, 3, 7], Way::There),
            "Accumulate" | "Raccumulate" => self.reach(call, Some(1), [2, 3, 8], Way::There),
            "Get" | "Rget" => self.reach(call, Some(1), [2, 3, 7], Way::Back),
            "Get_accumulate" | "Rget_accumulate" => {
                self.reach(call, Some(1), [2, 6, 11], Way::There);
                self.reach(call, Some(4), [5, 6, 11], Way::Back);
            }
            "Fetch_and_op" => {
                self.reach(call, None, [2, 3, 6], Way::There);
                self.reach(call, None, [2, 3, 6], Way::Back);
            }
            "Compare_and_swap" => {
                self.reach(call, None, [3, 4, 6], Way::There);
                self.reach(call, None, [3, 4, 6], Way::Back);
            }
            _ => return false,
        }
        true
    }

    fn open(&mut self, call: &Call, communicator: usize, window: usize) {
        let group = call.values.get(communicator).cloned().unwrap_or(Value::Unknown);
        self.forget_given(&call.values);
        self.give(call, window, group);
    }

    /// What goes one way; the arguments are the datatype, the other process, and the window. Without a count it is one element.
    fn reach(&mut self, call: &Call, count: Option<usize>, [datatype, peer, window]: [usize; 3], way: Way) {
        let elements = count.map_or(Formula::one(), |count| self.number_at(call, count, "count"));
        let bytes = elements * self.size_at(call, datatype);
        if way == Way::Back {
            self.forget_given(&call.values);
        }
        let Some(message) = self.between(call, way == Way::There, bytes, peer, window) else { return };
        // The other process notices nothing, so there is no other end to be found.
        self.emit(Step::Local(message_from(&self.role, &message)));
    }
}
