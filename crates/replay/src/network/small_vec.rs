//! Vector with inline storage for a few elements, to avoid a cache miss.

/// A vector whose first elements are stored inline.
#[derive(Clone, Debug)]
pub(super) struct SmallVec<T, const HERE: usize> {
    length: usize,
    inline: [T; HERE],
    /// All elements, once there are too many.
    spilled: Vec<T>,
}

impl<T: Copy + Default, const HERE: usize> Default for SmallVec<T, HERE> {
    fn default() -> SmallVec<T, HERE> {
        SmallVec { length: 0, inline: [T::default(); HERE], spilled: Vec::new() }
    }
}

impl<T: Copy + Default, const HERE: usize> SmallVec<T, HERE> {
    pub(super) fn push(&mut self, one: T) {
        if let Some(index) = self.inline.get_mut(self.length) {
            *index = one;
        } else {
            if self.length == HERE {
                self.spilled.clear();
                self.spilled.extend_from_slice(&self.inline);
            }
            self.spilled.push(one);
        }
        self.length += 1;
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Removes an element; the last one takes its index.
    pub(super) fn swap_remove(&mut self, index: usize) -> T {
        let last = self.length - 1;
        self.swap(index, last);
        let taken = self[last];
        if self.length == HERE + 1 {
            self.inline.copy_from_slice(&self.spilled[..HERE]);
        }
        self.spilled.truncate(last);
        self.length = last;
        taken
    }
}

impl<T, const HERE: usize> std::ops::Deref for SmallVec<T, HERE> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.inline.get(..self.length).unwrap_or(&self.spilled)
    }
}

impl<T, const HERE: usize> std::ops::DerefMut for SmallVec<T, HERE> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.inline.get_mut(..self.length).unwrap_or(&mut self.spilled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_many_they_are_what_was_put_in_and_not_taken_out() {
        let (mut few, mut plain) = (SmallVec::<u32, 3>::default(), Vec::new());
        for step in 0..200u32 {
            // Grows to ten, then shrinks.
            if plain.is_empty() || (step / 20).is_multiple_of(2) && !step.is_multiple_of(3) {
                few.push(step);
                plain.push(step);
            } else {
                let index = step as usize * 7 % plain.len();
                assert_eq!(few.swap_remove(index), plain.swap_remove(index));
            }
            assert_eq!(*few, *plain);
        }
        few.clear();
        assert!(few.is_empty());
    }
}
