//! Optional boxed state: with a million locations, memory counts.

/// A value that is allocated on first use.
pub(super) struct LazyBox<T>(Option<Box<T>>);

impl<T> Default for LazyBox<T> {
    fn default() -> LazyBox<T> {
        LazyBox(None)
    }
}

impl<T: Default> LazyBox<T> {
    /// The value, if allocated.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// The value, allocated if needed.
    pub(super) fn get_or_default(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
