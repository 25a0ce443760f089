//! What happens next: events in the order of time.
//!
//! Time never goes back, so an event need only be kept by the highest bit in which its moment differs from now (a radix heap; Ahuja,
//! Mehlhorn, Orlin and Tarjan, *Faster algorithms for the shortest path problem*, 1990). Adding one is a push to one of 64 lists; each is
//! moved to a nearer list a few times before it is due, all those of a list together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by moment, and those of one moment by order. An order is given to one event only.
pub struct Queue {
    now: u64,
    /// What is due now and was known before now, the first at the end.
    due: Vec<u64>,
    /// What became due since.
    late: BinaryHeap<Reverse<u64>>,
    /// By the highest bit in which the moment differs from now: moment and order.
    lists: [Vec<(u64, u64)>; 64],
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
    pub fn push(&mut self, moment: u64, order: u64) {
        if moment <= self.now {
            self.late.push(Reverse(order));
        } else {
            self.place(moment, order);
        }
    }

    /// The next event: its moment and its order.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u64)> {
        if self.due.is_empty() && self.late.is_empty() && !self.go_on() {
            return None;
        }
        let order = match (self.due.last(), self.late.peek()) {
            (Some(due), Some(Reverse(late))) if late < due => self.late.pop().map(|Reverse(order)| order),
            (None, _) => self.late.pop().map(|Reverse(order)| order),
            _ => self.due.pop(),
        };
        order.map(|order| (self.now, order))
    }

    #[inline]
    fn place(&mut self, moment: u64, order: u64) {
        let list = 63 - (moment ^ self.now).leading_zeros();
        self.lists[list as usize].push((moment, order));
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
        for (moment, order) in events.drain(..) {
            if moment == self.now {
                self.due.push(order);
            } else {
                self.place(moment, order);
            }
        }
        self.lists[list as usize] = events;
        self.due.sort_unstable_by_key(|order| Reverse(*order));
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_by_moment_and_then_by_order(steps in prop::collection::vec((0u64..40, 0u64..u64::MAX / 4, 0usize..3), 1..200)) {
            let mut queue = Queue::default();
            let mut expected = BinaryHeap::new();
            let mut now = 0;
            for (place, (near, far, pops)) in steps.into_iter().enumerate() {
                // Orders are mixed up, and each is there once.
                let order = ((place as u64) * 7919) % 100_003;
                let moment = now + if place % 5 == 0 { far } else { near };
                queue.push(moment, order);
                expected.push(Reverse((moment, order)));
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
