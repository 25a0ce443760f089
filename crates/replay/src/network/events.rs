//! What happens when: moments in order, of which each can be put off or brought forward; at one moment, what was set first.

/// The place of what is not in the heap.
const NOWHERE: u32 = u32::MAX;
/// Children of each place: a flat heap makes few steps, and the children lie together in memory.
const CHILDREN: usize = 4;

/// A moment for each of some numbers, the earliest first. Moments are not below zero.
#[derive(Debug, Default)]
pub struct Events {
    heap: Vec<Event>,
    /// By number: where in the heap it is.
    places: Vec<u32>,
    /// How many were set.
    count: u32,
}

/// The bits of the moment, which are in the order of moments, then when it was set, then the number; so that one comparison does for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event(u128);

impl Event {
    fn new(at_s: f64, count: u32, number: u32) -> Event {
        Event(u128::from(at_s.to_bits()) << 64 | u128::from(count) << 32 | u128::from(number))
    }

    fn at_s(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    fn number(self) -> u32 {
        self.0 as u32
    }
}

impl Events {
    /// The moment that comes first.
    pub fn next(&self) -> Option<f64> {
        self.heap.first().map(|event| event.at_s())
    }

    /// The number whose moment comes first, with that.
    pub fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().map(|event| (event.at_s(), event.number()))
    }

    /// Takes the first out if it is not later than this.
    pub fn pop_until(&mut self, until_s: f64) -> Option<u32> {
        let first = self.heap.first().filter(|event| event.at_s() <= until_s)?.number();
        self.places[first as usize] = NOWHERE;
        let last = self.heap.pop()?;
        if last.number() != first {
            self.heap[0] = last;
            self.sink(0);
        }
        Some(first)
    }

    /// Something happens then, whenever it was to happen before.
    pub fn set(&mut self, number: u32, at_s: f64) {
        if self.places.len() <= number as usize {
            self.places.resize(number as usize + 1, NOWHERE);
        }
        self.count = self.count.wrapping_add(1);
        let event = Event::new(at_s, self.count, number);
        match self.places[number as usize] {
            NOWHERE => {
                self.heap.push(event);
                self.rise(self.heap.len() - 1);
            }
            place => {
                let place = place as usize;
                let before = std::mem::replace(&mut self.heap[place], event);
                if event < before { self.rise(place) } else { self.sink(place) }
            }
        }
    }

    /// Nothing happens any more.
    pub fn clear(&mut self) {
        for event in self.heap.drain(..) {
            self.places[event.number() as usize] = NOWHERE;
        }
    }

    fn put(&mut self, place: usize, event: Event) {
        self.heap[place] = event;
        self.places[event.number() as usize] = place as u32;
    }

    fn rise(&mut self, mut place: usize) {
        let event = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] < event {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, event);
    }

    fn least_child(&self, place: usize) -> Option<usize> {
        let first = place * CHILDREN + 1;
        let children = self.heap.get(first..)?;
        let less = |a: usize, b: usize| if children[b] < children[a] { b } else { a };
        // Almost all have all children, and those are compared without a loop.
        match children.len() {
            CHILDREN.. => Some(first + less(less(0, 1), less(2, 3))),
            few => (0..few).reduce(less).map(|least| first + least),
        }
    }

    fn sink(&mut self, mut place: usize) {
        let event = self.heap[place];
        while let Some(child) = self.least_child(place).filter(|child| self.heap[*child] < event) {
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_wherever_they_were_moved() {
        let mut events = Events::default();
        for number in 0..100u32 {
            events.set(number, f64::from((number * 37) % 101));
        }
        for number in (0..100u32).step_by(3) {
            events.set(number, f64::from((number * 53) % 101) + 0.5);
        }
        let expected =
            |number: u32| if number.is_multiple_of(3) { f64::from((number * 53) % 101) + 0.5 } else { f64::from((number * 37) % 101) };
        let mut found = Vec::new();
        while let Some(at) = events.next() {
            let number = events.pop_until(at).unwrap();
            assert_eq!(at, expected(number));
            found.push(at);
        }
        assert_eq!(found.len(), 100);
        assert!(found.is_sorted());
    }

    #[test]
    fn at_one_moment_the_first_that_was_set_comes_first() {
        let mut events = Events::default();
        let order = [5, 3, 9, 0, 7, 1, 8];
        order.iter().for_each(|number| events.set(*number, 1.0));
        assert_eq!(order.map(|_| events.pop_until(1.0).unwrap()), order);
    }

    #[test]
    fn nothing_is_taken_before_its_time() {
        let mut events = Events::default();
        events.set(7, 2.0);
        assert_eq!(events.pop_until(1.9), None);
        assert_eq!(events.pop_until(2.0), Some(7));
        assert_eq!(events.next(), None);
    }
}
