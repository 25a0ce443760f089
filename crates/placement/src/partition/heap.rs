//! Vertices by their gain, the greatest first; gains change while vertices are inside.

/// Where a vertex is that is not inside.
const OUTSIDE: u32 = u32::MAX;

/// A binary heap that knows where each vertex is.
pub(crate) struct Heap {
    items: Vec<(i64, u32)>,
    places: Vec<u32>,
}

impl Heap {
    /// An empty heap for so many vertices.
    pub fn new(vertices: usize) -> Heap {
        Heap { items: Vec::new(), places: vec![OUTSIDE; vertices] }
    }

    /// Whether a vertex is inside.
    pub fn has(&self, vertex: u32) -> bool {
        self.places[vertex as usize] != OUTSIDE
    }

    /// The vertex of the greatest gain.
    pub fn first(&self) -> Option<(i64, u32)> {
        self.items.first().copied()
    }

    /// Puts a vertex in, or gives it another gain.
    pub fn set(&mut self, vertex: u32, gain: i64) {
        let place = self.places[vertex as usize];
        if place == OUTSIDE {
            self.items.push((gain, vertex));
            self.rise(self.items.len() - 1);
        } else {
            let before = std::mem::replace(&mut self.items[place as usize].0, gain);
            if gain > before {
                self.rise(place as usize);
            } else {
                self.sink(place as usize);
            }
        }
    }

    /// Takes a vertex out, if it is inside.
    pub fn remove(&mut self, vertex: u32) {
        let place = std::mem::replace(&mut self.places[vertex as usize], OUTSIDE) as usize;
        if place == OUTSIDE as usize {
            return;
        }
        self.items.swap_remove(place);
        if place < self.items.len() {
            self.rise(place);
            self.sink(self.places[self.items[place].1 as usize] as usize);
        }
    }

    /// Takes all vertices out.
    pub fn clear(&mut self) {
        self.items.drain(..).for_each(|(_, vertex)| self.places[vertex as usize] = OUTSIDE);
    }

    fn rise(&mut self, mut place: usize) {
        let item = self.items[place];
        while place > 0 {
            let above = (place - 1) / 2;
            if self.items[above].0 >= item.0 {
                break;
            }
            self.put(place, self.items[above]);
            place = above;
        }
        self.put(place, item);
    }

    fn sink(&mut self, mut place: usize) {
        let item = self.items[place];
        loop {
            let mut below = 2 * place + 1;
            if below >= self.items.len() {
                break;
            }
            if below + 1 < self.items.len() && self.items[below + 1].0 > self.items[below].0 {
                below += 1;
            }
            if self.items[below].0 <= item.0 {
                break;
            }
            self.put(place, self.items[below]);
            place = below;
        }
        self.put(place, item);
    }

    fn put(&mut self, place: usize, item: (i64, u32)) {
        self.items[place] = item;
        self.places[item.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_come_out_by_gain_also_after_changes() {
        let mut heap = Heap::new(6);
        for (vertex, gain) in [(0, 3), (1, -5), (2, 9), (3, 4), (4, 0), (5, 7)] {
            heap.set(vertex, gain);
        }
        heap.set(1, 8);
        heap.set(2, -1);
        heap.remove(3);
        heap.remove(3);
        assert!(!heap.has(3) && heap.has(1));
        let mut order = Vec::new();
        while let Some((_, vertex)) = heap.first() {
            heap.remove(vertex);
            order.push(vertex);
        }
        assert_eq!(order, [1, 5, 0, 4, 2]);
    }
}
