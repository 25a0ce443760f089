//! What happens when: moments in order, of which each can be put off or brought forward; at one moment, what was set first.

/// The place of what is not in the heap.
const NOWHERE: u32 = u32::MAX;
/// Children of each place: a flat heap makes few steps, and the children lie together in memory.
const CHILDREN: usize = 4;

/// A moment for each of some numbers, the earliest first.
#[derive(Debug, Default)]
pub struct Events {
    heap: Vec<Event>,
    /// By number: where in the heap it is.
    places: Vec<u32>,
    /// How many were set.
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at_s: f64,
    order: u64,
    number: u32,
}

impl Event {
    fn is_before(&self, other: &Event) -> bool {
        self.at_s < other.at_s || (self.at_s == other.at_s && self.order < other.order)
    }
}

impl Events {
    /// The moment that comes first.
    pub fn next(&self) -> Option<f64> {
        self.heap.first().map(|event| event.at_s)
    }

    /// Takes the first out if it is not later than this.
    pub fn pop_until(&mut self, until_s: f64) -> Option<u32> {
        let first = *self.heap.first().filter(|event| event.at_s <= until_s)?;
        self.places[first.number as usize] = NOWHERE;
        let last = self.heap.pop()?;
        if last.number != first.number {
            self.put(0, last);
            self.sink(0);
        }
        Some(first.number)
    }

    /// Something happens then, whenever it was to happen before.
    pub fn set(&mut self, number: u32, at_s: f64) {
        if self.places.len() <= number as usize {
            self.places.resize(number as usize + 1, NOWHERE);
        }
        self.count += 1;
        let event = Event { at_s, order: self.count, number };
        match self.places[number as usize] {
            NOWHERE => {
                self.heap.push(event);
                self.rise(self.heap.len() - 1);
            }
            place => {
                let place = place as usize;
                let before = std::mem::replace(&mut self.heap[place], event);
                if event.is_before(&before) { self.rise(place) } else { self.sink(place) }
            }
        }
    }

    /// Nothing happens any more.
    pub fn clear(&mut self) {
        for event in self.heap.drain(..) {
            self.places[event.number as usize] = NOWHERE;
        }
    }

    fn put(&mut self, place: usize, event: Event) {
        self.heap[place] = event;
        self.places[event.number as usize] = place as u32;
    }

    fn rise(&mut self, mut place: usize) {
        let event = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if !event.is_before(&self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, event);
    }

    fn sink(&mut self, mut place: usize) {
        let event = self.heap[place];
        loop {
            let first = place * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.reduce(|a, b| if self.heap[b].is_before(&self.heap[a]) { b } else { a }) else { break };
            if !self.heap[least].is_before(&event) {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
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
        let expected = |number: u32| if number % 3 == 0 { f64::from((number * 53) % 101) + 0.5 } else { f64::from((number * 37) % 101) };
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
