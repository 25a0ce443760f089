//! Steps that wait to be written until it is known what the receives before them got.

use std::collections::{HashMap, VecDeque};

use sintonia_recording::table::RequestId;

use super::Step;

/// So many steps are held back; then the oldest receive is given up, as one that will never get anything.
const MOST: usize = 1 << 20;

enum Slot {
    Step(u16, Step),
    /// A receive whose message is not known yet.
    Open(u16, RequestId),
    /// A receive that got nothing.
    Nothing,
}

/// Steps in order, with the number of their thread.
#[derive(Default)]
pub(super) struct Held {
    slots: VecDeque<Slot>,
    /// How many have been taken out.
    taken: u64,
    /// Where the open receives are, counted from the very first slot.
    open: HashMap<RequestId, u64>,
}

impl Held {
    /// A step that is known.
    pub fn push(&mut self, thread: u16, step: Step) {
        self.slots.push_back(Slot::Step(thread, step));
    }

    /// A receive begins.
    pub fn begin(&mut self, thread: u16, request: RequestId) {
        self.give_up(request);
        self.open.insert(request, self.taken + self.slots.len() as u64);
        self.slots.push_back(Slot::Open(thread, request));
    }

    /// It is known what a receive got; says whether its place was still held.
    pub fn settle(&mut self, request: RequestId, step: Step) -> bool {
        let slot = self.slot(request);
        if let Some(slot) = slot
            && let Slot::Open(thread, _) = *slot
        {
            *slot = Slot::Step(thread, step);
            return true;
        }
        false
    }

    /// A receive gets nothing.
    pub fn give_up(&mut self, request: RequestId) {
        if let Some(slot) = self.slot(request) {
            *slot = Slot::Nothing;
        }
    }

    /// All receives that are open get nothing.
    pub fn give_up_all(&mut self) {
        let open: Vec<RequestId> = self.open.keys().copied().collect();
        open.into_iter().for_each(|request| self.give_up(request));
    }

    /// Whether a receive is open.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The next step that can be written.
    pub fn pop(&mut self) -> Option<(u16, Step)> {
        loop {
            if let Some(Slot::Open(_, request)) = self.slots.front()
                && self.slots.len() > MOST
            {
                self.give_up(*request);
            }
            match self.slots.front()? {
                Slot::Open(..) => return None,
                Slot::Step(thread, step) => {
                    let next = (*thread, *step);
                    self.drop_front();
                    return Some(next);
                }
                Slot::Nothing => self.drop_front(),
            }
        }
    }

    fn drop_front(&mut self) {
        self.slots.pop_front();
        self.taken += 1;
    }

    fn slot(&mut self, request: RequestId) -> Option<&mut Slot> {
        let place = self.open.remove(&request)?.checked_sub(self.taken)?;
        self.slots.get_mut(place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64) -> RequestId {
        RequestId { thread: 0, number }
    }

    fn compute(seconds: f64) -> Step {
        Step::Compute { seconds }
    }

    #[test]
    fn steps_come_out_in_the_order_of_their_begin() {
        let mut held = Held::default();
        held.push(0, compute(1.0));
        held.begin(1, request(0));
        held.push(0, compute(3.0));
        assert_eq!((held.pop(), held.pop()), (Some((0, compute(1.0))), None));
        assert!(held.settle(request(0), compute(2.0)) && !held.has_open());
        assert_eq!([held.pop(), held.pop(), held.pop()], [Some((1, compute(2.0))), Some((0, compute(3.0))), None]);
    }

    #[test]
    fn a_receive_that_never_gets_anything_does_not_hold_back_the_whole_run() {
        let mut held = Held::default();
        held.begin(0, request(0));
        (0..MOST + 1).for_each(|_| held.push(0, Step::Poll));
        assert_eq!(held.pop(), Some((0, Step::Poll)));
        assert!(!held.settle(request(0), compute(1.0)));
    }
}
