//! What happens next: events in the order of time.
//!
//! Time never goes back, so an event need only be kept by the highest bit in which its moment differs from now (a radix heap; Ahuja,
//! Mehlhorn, Orlin and Tarjan, *Faster algorithms for the shortest path problem*, 1990). Adding one is a push to one of 64 lists; each is
//! moved to a nearer list a few times before it is due, all those of a list together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::Event;

/// Events by moment, and those of one moment in their order.
pub struct Queue {
    now: u64,
    /// What is due now and was known before now, the first at the end.
    due: Vec<Event>,
    /// What became due since.
    late: BinaryHeap<Reverse<Event>>,
    /// By the highest bit in which the moment differs from now.
    lists: [Vec<(u64, Event)>; 64],
    /// Which lists have something.
    filled: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { now: 0, due: Vec::new(), late: BinaryHeap::new(), lists: [const { Vec::new() }; 64], filled: 0 }
    }
}

impl Queue {
    /// Adds an event; what would be past is due now.
    #[inline]
    pub fn push(&mut self, moment: u64, event: Event) {
        if moment <= self.now {
            self.late.push(Reverse(event));
        } else {
            self.place(moment, event);
        }
    }

    /// The next event, and its moment.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        if self.due.is_empty() && self.late.is_empty() && !self.go_on() {
            return None;
        }
        let late_first = match (self.due.last(), self.late.peek()) {
            (Some(due), Some(Reverse(late))) => late < due,
            (due, _) => due.is_none(),
        };
        let event = if late_first { self.late.pop().map(|Reverse(event)| event) } else { self.due.pop() };
        event.map(|event| (self.now, event))
    }

    #[inline]
    fn place(&mut self, moment: u64, event: Event) {
        let list = 63 - (moment ^ self.now).leading_zeros();
        self.lists[list as usize].push((moment, event));
        self.filled |= 1 << list;
    }

    /// Goes on to the next moment at which something is due; false if there is none.
    fn go_on(&mut self) -> bool {
        let list = self.filled.trailing_zeros();
        if list == 64 {
            return false;
        }
        self.filled &= !(1 << list);
        let mut events = std::mem::take(&mut self.lists[list as usize]);
        self.now = events.iter().map(|(moment, _)| *moment).min().unwrap_or(self.now);
        for (moment, event) in events.drain(..) {
            if moment == self.now {
                self.due.push(event);
            } else {
                self.place(moment, event);
            }
        }
        self.lists[list as usize] = events;
        self.due.sort_unstable_by_key(|event| Reverse(*event));
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::event::What;
    use super::*;

    proptest! {
        #[test]
        fn events_come_by_moment_and_then_by_order(steps in prop::collection::vec((0u64..40, 0u64..u64::MAX / 1000, 0usize..3), 1..200)) {
            let mut queue = Queue::default();
            let mut expected = BinaryHeap::new();
            let mut now = 0;
            for (place, (near, far, pops)) in steps.into_iter().enumerate() {
                // Orders are mixed up, and each is there once.
                let number = ((place * 7919) % 100_003) as u32;
                let moment = now + if place % 5 == 0 { far } else { near };
                queue.push(moment, Event::new(number, What::Send, 0, 0));
                expected.push(Reverse((moment, Event::new(number, What::Send, 0, 0))));
                for _ in 0..pops {
                    let next = queue.pop();
                    prop_assert_eq!(next, expected.pop().map(|Reverse(event)| event));
                    now = next.map_or(now, |(moment, _)| moment);
                }
            }
            while let Some(Reverse(event)) = expected.pop() {
                prop_assert_eq!(queue.pop(), Some(event));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
