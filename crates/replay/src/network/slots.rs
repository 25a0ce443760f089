//! A place for each message under way, used again when it has arrived, so that memory grows with the messages at one time.

/// Things by the number of their place.
#[derive(Debug)]
pub struct Slots<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { all: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Slots<T> {
    /// A place for something new; what was there before may be used again.
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(T::default());
            self.all.len() as u32 - 1
        })
    }

    /// The place is free again.
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = T;

    fn index(&self, slot: u32) -> &T {
        &self.all[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.all[slot as usize]
    }
}
