//! A priority queue of vertices by gain, with updates.

/// The position of a vertex that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// A binary max-heap that tracks the position of each vertex.
pub(crate) struct GainHeap {
    items: Vec<(i64, u32)>,
    positions: Vec<u32>,
}

impl GainHeap {
    /// An empty heap for this many vertices.
    pub(super) fn new(vertices: usize) -> GainHeap {
        GainHeap { items: Vec::new(), positions: vec![ABSENT; vertices] }
    }

    /// Whether a vertex is in the heap.
    pub(super) fn contains(&self, vertex: u32) -> bool {
        self.positions[vertex as usize] != ABSENT
    }

    /// The vertex with the largest gain.
    pub(super) fn peek(&self) -> Option<(i64, u32)> {
        self.items.first().copied()
    }

    /// Inserts a vertex or changes its gain.
    pub(super) fn set(&mut self, vertex: u32, gain: i64) {
        let index = self.positions[vertex as usize];
        if index == ABSENT {
            self.items.push((gain, vertex));
            self.sift_up(self.items.len() - 1);
        } else {
            let before = std::mem::replace(&mut self.items[index as usize].0, gain);
            if gain > before {
                self.sift_up(index as usize);
            } else {
                self.sift_down(index as usize);
            }
        }
    }

    /// Removes a vertex, if present.
    pub(super) fn remove(&mut self, vertex: u32) {
        let index = std::mem::replace(&mut self.positions[vertex as usize], ABSENT) as usize;
        if index == ABSENT as usize {
            return;
        }
        self.items.swap_remove(index);
        if index < self.items.len() {
            self.sift_up(index);
            self.sift_down(self.positions[self.items[index].1 as usize] as usize);
        }
    }

    /// Removes all vertices.
    pub(super) fn clear(&mut self) {
        self.items.drain(..).for_each(|(_, vertex)| self.positions[vertex as usize] = ABSENT);
    }

    fn sift_up(&mut self, mut index: usize) {
        let item = self.items[index];
        while index > 0 {
            let above = (index - 1) / 2;
            if self.items[above].0 >= item.0 {
                break;
            }
            self.put(index, self.items[above]);
            index = above;
        }
        self.put(index, item);
    }

    fn sift_down(&mut self, mut index: usize) {
        let item = self.items[index];
        loop {
            let mut below = 2 * index + 1;
            if below >= self.items.len() {
                break;
            }
            if below + 1 < self.items.len() && self.items[below + 1].0 > self.items[below].0 {
                below += 1;
            }
            if self.items[below].0 <= item.0 {
                break;
            }
            self.put(index, self.items[below]);
            index = below;
        }
        self.put(index, item);
    }

    fn put(&mut self, index: usize, item: (i64, u32)) {
        self.items[index] = item;
        self.positions[item.1 as usize] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_come_out_by_gain_also_after_changes() {
        let mut heap = GainHeap::new(6);
        for (vertex, gain) in [(0, 3), (1, -5), (2, 9), (3, 4), (4, 0), (5, 7)] {
            heap.set(vertex, gain);
        }
        heap.set(1, 8);
        heap.set(2, -1);
        heap.remove(3);
        heap.remove(3);
        assert!(!heap.contains(3) && heap.contains(1));
        let mut order = Vec::new();
        while let Some((_, vertex)) = heap.peek() {
            heap.remove(vertex);
            order.push(vertex);
        }
        assert_eq!(order, [1, 5, 0, 4, 2]);
    }
}
