//! A short list that lies in place: forms and exponents are made and dropped by the thousand in one fit.

use std::ops::{Deref, DerefMut};

/// The most items of a short list.
pub const MOST: usize = 12;

/// Up to [`MOST`] items.
#[derive(Debug, Clone, Copy)]
pub struct Short<T> {
    items: [T; MOST],
    len: u8,
}

impl<T: Copy + Default> Short<T> {
    /// Adds an item; there must be room.
    pub fn push(&mut self, item: T) {
        self.items[usize::from(self.len)] = item;
        self.len += 1;
    }
}

impl<T: Copy + Default> Default for Short<T> {
    fn default() -> Self {
        Self { items: [T::default(); MOST], len: 0 }
    }
}

impl<T> Deref for Short<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..usize::from(self.len)]
    }
}

impl<T> DerefMut for Short<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..usize::from(self.len)]
    }
}

impl<T: PartialEq> PartialEq for Short<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Copy + Default> FromIterator<T> for Short<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut short = Self::default();
        items.into_iter().for_each(|item| short.push(item));
        short
    }
}

impl<T: Copy + Default> From<&[T]> for Short<T> {
    fn from(items: &[T]) -> Self {
        items.iter().copied().collect()
    }
}
