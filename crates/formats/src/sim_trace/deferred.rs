//! Actions that wait to be written until the messages of earlier receives are known.

use std::collections::{HashMap, VecDeque};

use sintonia_recording::call_table::RequestId;

use super::TraceAction;

/// Limit of deferred actions; beyond it, the oldest open receive is dropped.
const MAX_DEFERRED: usize = 1 << 20;

enum DeferredSlot {
    Ready(u16, TraceAction),
    /// A receive whose message is not known yet.
    OpenReceive(u16, RequestId),
    /// A receive without a message.
    Dropped,
}

/// Actions in order, with their thread numbers.
#[derive(Default)]
pub(super) struct DeferredActions {
    slots: VecDeque<DeferredSlot>,
    /// Number of slots removed.
    popped: u64,
    /// Positions of the open receives, counted from the first slot ever.
    open_receives: HashMap<RequestId, u64>,
}

impl DeferredActions {
    pub(super) fn push(&mut self, thread: u16, step: TraceAction) {
        self.slots.push_back(DeferredSlot::Ready(thread, step));
    }

    /// Reserves the position of a receive whose message is not known yet.
    pub(super) fn push_open_receive(&mut self, thread: u16, request: RequestId) {
        self.drop_receive(request);
        self.open_receives.insert(request, self.popped + self.slots.len() as u64);
        self.slots.push_back(DeferredSlot::OpenReceive(thread, request));
    }

    /// Fills in the message of a receive; returns whether its position was still reserved.
    pub(super) fn resolve_receive(&mut self, request: RequestId, step: TraceAction) -> bool {
        let slot = self.take_open_slot(request);
        if let Some(slot) = slot
            && let DeferredSlot::OpenReceive(thread, _) = *slot
        {
            *slot = DeferredSlot::Ready(thread, step);
            return true;
        }
        false
    }

    pub(super) fn drop_receive(&mut self, request: RequestId) {
        if let Some(slot) = self.take_open_slot(request) {
            *slot = DeferredSlot::Dropped;
        }
    }

    pub(super) fn drop_open_receives(&mut self) {
        let open: Vec<RequestId> = self.open_receives.keys().copied().collect();
        open.into_iter().for_each(|request| self.drop_receive(request));
    }

    pub(super) fn has_open_receives(&self) -> bool {
        !self.open_receives.is_empty()
    }

    /// The next action that can be written.
    pub(super) fn pop(&mut self) -> Option<(u16, TraceAction)> {
        loop {
            if let Some(DeferredSlot::OpenReceive(_, request)) = self.slots.front()
                && self.slots.len() > MAX_DEFERRED
            {
                self.drop_receive(*request);
            }
            match self.slots.front()? {
                DeferredSlot::OpenReceive(..) => return None,
                DeferredSlot::Ready(thread, step) => {
                    let next = (*thread, *step);
                    self.drop_front();
                    return Some(next);
                }
                DeferredSlot::Dropped => self.drop_front(),
            }
        }
    }

    fn drop_front(&mut self) {
        self.slots.pop_front();
        self.popped += 1;
    }

    fn take_open_slot(&mut self, request: RequestId) -> Option<&mut DeferredSlot> {
        let index = self.open_receives.remove(&request)?.checked_sub(self.popped)?;
        self.slots.get_mut(index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64) -> RequestId {
        RequestId { thread: 0, number }
    }

    fn compute(seconds: f64) -> TraceAction {
        TraceAction::Compute { seconds }
    }

    #[test]
    fn steps_come_out_in_the_order_of_their_begin() {
        let mut deferred = DeferredActions::default();
        deferred.push(0, compute(1.0));
        deferred.push_open_receive(1, request(0));
        deferred.push(0, compute(3.0));
        assert_eq!((deferred.pop(), deferred.pop()), (Some((0, compute(1.0))), None));
        assert!(deferred.resolve_receive(request(0), compute(2.0)) && !deferred.has_open_receives());
        assert_eq!([deferred.pop(), deferred.pop(), deferred.pop()], [Some((1, compute(2.0))), Some((0, compute(3.0))), None]);
    }

    #[test]
    fn a_receive_that_never_gets_anything_does_not_hold_back_the_whole_run() {
        let mut deferred = DeferredActions::default();
        deferred.push_open_receive(0, request(0));
        (0..MAX_DEFERRED + 1).for_each(|_| deferred.push(0, TraceAction::Test));
        assert_eq!(deferred.pop(), Some((0, TraceAction::Test)));
        assert!(!deferred.resolve_receive(request(0), compute(1.0)));
    }
}
