//! The event queue.
//!
//! Simulated time never decreases, so events can be bucketed by the highest bit in which their time differs from now (a radix heap; Ahuja,
//! Mehlhorn, Orlin and Tarjan, *Faster algorithms for the shortest path problem*, 1990). A push appends to one of 64 buckets; each event
//! moves to a lower bucket a few times before it is due, one whole bucket at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::GoalEvent;

/// Events by time, then sequence number.
pub(super) struct RadixHeap {
    now: u64,
    /// Events due now, sorted in descending order.
    due: Vec<GoalEvent>,
    /// Events added for the current time.
    added_due: BinaryHeap<Reverse<GoalEvent>>,
    /// By the highest bit in which the time differs from now.
    buckets: [Vec<(u64, GoalEvent)>; 64],
    /// Bit set of non-empty buckets.
    occupied: u64,
}

impl Default for RadixHeap {
    fn default() -> RadixHeap {
        RadixHeap { now: 0, due: Vec::new(), added_due: BinaryHeap::new(), buckets: [const { Vec::new() }; 64], occupied: 0 }
    }
}

impl RadixHeap {
    /// Adds an event; past times are due now.
    #[inline]
    pub(super) fn push(&mut self, time: u64, event: GoalEvent) {
        if time <= self.now {
            self.added_due.push(Reverse(event));
        } else {
            self.insert(time, event);
        }
    }

    /// The next event and its time.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, GoalEvent)> {
        if self.due.is_empty() && self.added_due.is_empty() && !self.advance() {
            return None;
        }
        let late_first = match (self.due.last(), self.added_due.peek()) {
            (Some(due), Some(Reverse(late))) => late < due,
            (due, _) => due.is_none(),
        };
        let event = if late_first { self.added_due.pop().map(|Reverse(event)| event) } else { self.due.pop() };
        event.map(|event| (self.now, event))
    }

    #[inline]
    fn insert(&mut self, time: u64, event: GoalEvent) {
        let list = 63 - (time ^ self.now).leading_zeros();
        self.buckets[list as usize].push((time, event));
        self.occupied |= 1 << list;
    }

    /// Advances to the next event time; false if there is none.
    fn advance(&mut self) -> bool {
        let list = self.occupied.trailing_zeros();
        if list == 64 {
            return false;
        }
        self.occupied &= !(1 << list);
        let mut events = std::mem::take(&mut self.buckets[list as usize]);
        self.now = events.iter().map(|(time, _)| *time).min().unwrap_or(self.now);
        for (time, event) in events.drain(..) {
            if time == self.now {
                self.due.push(event);
            } else {
                self.insert(time, event);
            }
        }
        self.buckets[list as usize] = events;
        self.due.sort_unstable_by_key(|event| Reverse(*event));
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::event::GoalEventKind;
    use super::*;

    proptest! {
        #[test]
        fn events_come_by_moment_and_then_by_order(steps in prop::collection::vec((0u64..40, 0u64..u64::MAX / 1000, 0usize..3), 1..200)) {
            let mut queue = RadixHeap::default();
            let mut expected = BinaryHeap::new();
            let mut now = 0;
            for (index, (near, far, pops)) in steps.into_iter().enumerate() {
                // Shuffled, unique sequence numbers.
                let number = ((index * 7919) % 100_003) as u32;
                let time = now + if index % 5 == 0 { far } else { near };
                queue.push(time, GoalEvent::new(number, GoalEventKind::Send, 0, 0));
                expected.push(Reverse((time, GoalEvent::new(number, GoalEventKind::Send, 0, 0))));
                for _ in 0..pops {
                    let next = queue.pop();
                    prop_assert_eq!(next, expected.pop().map(|Reverse(event)| event));
                    now = next.map_or(now, |(time, _)| time);
                }
            }
            while let Some(Reverse(event)) = expected.pop() {
                prop_assert_eq!(queue.pop(), Some(event));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
