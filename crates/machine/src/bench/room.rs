//! Memory that begins at a page. Where in a page a message begins changes what it costs: one that crosses into the next page has two to be
//! fetched. Other benchmarks begin at a page, and so do the arrays of programs that care.

use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

/// Elements, of which the first begins a page.
pub struct Room<T> {
    memory: Vec<T>,
    begin: usize,
}

impl<T: Copy> Room<T> {
    /// Room for so many, all the same.
    pub fn new(count: usize, value: T) -> Room<T> {
        let spare = PAGE / size_of::<T>().max(1);
        let memory = vec![value; count + spare];
        let begin = memory.as_ptr().align_offset(PAGE).min(spare);
        Room { memory, begin }
    }
}

impl<T> Deref for Room<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.begin..]
    }
}

impl<T> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.begin..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_page_and_holds_what_is_asked() {
        for count in [0, 1, 1000, 100_000] {
            let (bytes, numbers) = (Room::new(count, 7u8), Room::new(count, 1.5f64));
            assert!(bytes.as_ptr().addr().is_multiple_of(PAGE) && numbers.as_ptr().addr().is_multiple_of(PAGE));
            assert!(bytes.len() >= count && numbers.len() >= count && numbers.iter().all(|number| *number == 1.5));
        }
    }
}
