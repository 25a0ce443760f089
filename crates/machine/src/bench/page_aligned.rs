//! Page-aligned memory. The position of a message in a page changes its cost, since one that crosses into the next page touches two.
//! Other benchmarks align to pages, and so do programs that care.

use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

/// A buffer whose first element begins a page.
pub(super) struct PageAlignedBuffer<T> {
    memory: Vec<T>,
    begin: usize,
}

impl<T: Copy> PageAlignedBuffer<T> {
    /// A buffer of at least `count` elements.
    pub(super) fn new(count: usize, value: T) -> PageAlignedBuffer<T> {
        let spare = PAGE / size_of::<T>().max(1);
        let memory = vec![value; count + spare];
        let begin = memory.as_ptr().align_offset(PAGE).min(spare);
        PageAlignedBuffer { memory, begin }
    }
}

impl<T> Deref for PageAlignedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.begin..]
    }
}

impl<T> DerefMut for PageAlignedBuffer<T> {
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
            let (bytes, numbers) = (PageAlignedBuffer::new(count, 7u8), PageAlignedBuffer::new(count, 1.5f64));
            assert!(bytes.as_ptr().addr().is_multiple_of(PAGE) && numbers.as_ptr().addr().is_multiple_of(PAGE));
            assert!(bytes.len() >= count && numbers.len() >= count && numbers.iter().all(|number| *number == 1.5));
        }
    }
}
