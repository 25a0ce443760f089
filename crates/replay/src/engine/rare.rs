//! What few lines have: it takes room only where it is there. With a million lines, room counts.

/// Something that is mostly not there.
pub struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Rare<T> {
        Rare(None)
    }
}

impl<T: Default> Rare<T> {
    /// It, if it is there.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// It, if it is there, to be changed.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// It, which is there from now on.
    pub fn make(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
