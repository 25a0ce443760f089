//! Indexed heap of event times that can be rescheduled; first scheduled, first served at equal times.

const NOT_IN_HEAP: u32 = u32::MAX;
/// A 4-ary heap is flat, and siblings are adjacent in memory.
const ARITY: usize = 4;

/// A non-negative time per key, earliest first.
#[derive(Debug, Default)]
pub(super) struct EventHeap {
    heap: Vec<HeapEntry>,
    /// Heap position by key.
    positions: Vec<u32>,
    /// Sequence number of the last schedule.
    sequence: u32,
}

/// Bits of the time (which sort like the time), sequence number, key: one comparison for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HeapEntry(u128);

impl HeapEntry {
    fn new(at_s: f64, count: u32, number: u32) -> HeapEntry {
        HeapEntry(u128::from(at_s.to_bits()) << 64 | u128::from(count) << 32 | u128::from(number))
    }

    fn at_s(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    fn key(self) -> u32 {
        self.0 as u32
    }
}

impl EventHeap {
    /// The earliest time.
    pub(super) fn next_time(&self) -> Option<f64> {
        self.heap.first().map(|event| event.at_s())
    }

    /// The earliest time and its key.
    pub(super) fn peek(&self) -> Option<(f64, u32)> {
        self.heap.first().map(|event| (event.at_s(), event.key()))
    }

    /// Removes the first entry if it is not later than this.
    pub(super) fn pop_until(&mut self, until_s: f64) -> Option<u32> {
        let first = self.heap.first().filter(|event| event.at_s() <= until_s)?.key();
        self.positions[first as usize] = NOT_IN_HEAP;
        let last = self.heap.pop()?;
        if last.key() != first {
            self.heap[0] = last;
            self.sift_down(0);
        }
        Some(first)
    }

    /// Schedules or reschedules a key.
    pub(super) fn schedule(&mut self, number: u32, at_s: f64) {
        if self.positions.len() <= number as usize {
            self.positions.resize(number as usize + 1, NOT_IN_HEAP);
        }
        self.sequence = self.sequence.wrapping_add(1);
        let event = HeapEntry::new(at_s, self.sequence, number);
        match self.positions[number as usize] {
            NOT_IN_HEAP => {
                self.heap.push(event);
                self.sift_up(self.heap.len() - 1);
            }
            index => {
                let index = index as usize;
                let before = std::mem::replace(&mut self.heap[index], event);
                if event < before { self.sift_up(index) } else { self.sift_down(index) }
            }
        }
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        for event in self.heap.drain(..) {
            self.positions[event.key() as usize] = NOT_IN_HEAP;
        }
    }

    fn place_entry(&mut self, index: usize, event: HeapEntry) {
        self.heap[index] = event;
        self.positions[event.key() as usize] = index as u32;
    }

    fn sift_up(&mut self, mut index: usize) {
        let event = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if self.heap[parent] < event {
                break;
            }
            self.place_entry(index, self.heap[parent]);
            index = parent;
        }
        self.place_entry(index, event);
    }

    fn least_child(&self, index: usize) -> Option<usize> {
        let first = index * ARITY + 1;
        let children = self.heap.get(first..)?;
        let less = |a: usize, b: usize| if children[b] < children[a] { b } else { a };
        // Nearly all nodes have four children; these are compared without a loop.
        match children.len() {
            ARITY.. => Some(first + less(less(0, 1), less(2, 3))),
            few => (0..few).reduce(less).map(|least| first + least),
        }
    }

    fn sift_down(&mut self, mut index: usize) {
        let event = self.heap[index];
        while let Some(child) = self.least_child(index).filter(|child| self.heap[*child] < event) {
            self.place_entry(index, self.heap[child]);
            index = child;
        }
        self.place_entry(index, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_order_after_rescheduling() {
        let mut events = EventHeap::default();
        for number in 0..100u32 {
            events.schedule(number, f64::from((number * 37) % 101));
        }
        for number in (0..100u32).step_by(3) {
            events.schedule(number, f64::from((number * 53) % 101) + 0.5);
        }
        let expected =
            |number: u32| if number.is_multiple_of(3) { f64::from((number * 53) % 101) + 0.5 } else { f64::from((number * 37) % 101) };
        let mut found = Vec::new();
        while let Some(at) = events.next_time() {
            let number = events.pop_until(at).unwrap();
            assert_eq!(at, expected(number));
            found.push(at);
        }
        assert_eq!(found.len(), 100);
        assert!(found.is_sorted());
    }

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut events = EventHeap::default();
        let order = [5, 3, 9, 0, 7, 1, 8];
        order.iter().for_each(|number| events.schedule(*number, 1.0));
        assert_eq!(order.map(|_| events.pop_until(1.0).unwrap()), order);
    }

    #[test]
    fn nothing_is_taken_before_its_time() {
        let mut events = EventHeap::default();
        events.schedule(7, 2.0);
        assert_eq!(events.pop_until(1.9), None);
        assert_eq!(events.pop_until(2.0), Some(7));
        assert_eq!(events.next_time(), None);
    }
}
