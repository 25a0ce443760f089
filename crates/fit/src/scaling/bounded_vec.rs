//! A vector with inline storage: one fit creates thousands of hypotheses and exponent lists.

use std::ops::{Deref, DerefMut};

/// The maximum number of items.
pub(super) const CAPACITY: usize = 12;

/// Up to [`CAPACITY`] items, stored inline.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundedVec<T> {
    items: [T; CAPACITY],
    len: u8,
}

impl<T: Copy + Default> BoundedVec<T> {
    /// Appends an item; panics if the vector is full.
    pub(super) fn push(&mut self, item: T) {
        self.items[usize::from(self.len)] = item;
        self.len += 1;
    }
}

impl<T: Copy + Default> Default for BoundedVec<T> {
    fn default() -> Self {
        Self { items: [T::default(); CAPACITY], len: 0 }
    }
}

impl<T> Deref for BoundedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..usize::from(self.len)]
    }
}

impl<T> DerefMut for BoundedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..usize::from(self.len)]
    }
}

impl<T: PartialEq> PartialEq for BoundedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Copy + Default> FromIterator<T> for BoundedVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut short = Self::default();
        items.into_iter().for_each(|item| short.push(item));
        short
    }
}

impl<T: Copy + Default> From<&[T]> for BoundedVec<T> {
    fn from(items: &[T]) -> Self {
        items.iter().copied().collect()
    }
}
