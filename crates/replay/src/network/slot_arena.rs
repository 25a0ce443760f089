//! Slot allocator, so that memory grows with concurrent messages only.

/// Items by slot index.
#[derive(Debug)]
pub(super) struct SlotArena<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for SlotArena<T> {
    fn default() -> SlotArena<T> {
        SlotArena { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> SlotArena<T> {
    /// Allocates a slot; its item may be reused.
    pub(super) fn allocate(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.items.push(T::default());
            self.items.len() as u32 - 1
        })
    }

    /// Frees a slot.
    pub(super) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

impl<T> std::ops::Index<u32> for SlotArena<T> {
    type Output = T;

    fn index(&self, slot: u32) -> &T {
        &self.items[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for SlotArena<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.items[slot as usize]
    }
}
