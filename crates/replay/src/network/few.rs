//! Things that are mostly few: those lie where their list lies, so that looking at them is one step through memory and not two.

/// A list whose first things lie in it, unless there are more than that.
#[derive(Clone, Debug)]
pub struct Few<T, const HERE: usize> {
    count: usize,
    here: [T; HERE],
    /// All of them, when they are more.
    more: Vec<T>,
}

impl<T: Copy + Default, const HERE: usize> Default for Few<T, HERE> {
    fn default() -> Few<T, HERE> {
        Few { count: 0, here: [T::default(); HERE], more: Vec::new() }
    }
}

impl<T: Copy + Default, const HERE: usize> Few<T, HERE> {
    pub fn push(&mut self, one: T) {
        if let Some(place) = self.here.get_mut(self.count) {
            *place = one;
        } else {
            if self.count == HERE {
                self.more.clear();
                self.more.extend_from_slice(&self.here);
            }
            self.more.push(one);
        }
        self.count += 1;
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Takes one out; the last takes its place.
    pub fn swap_remove(&mut self, place: usize) -> T {
        let last = self.count - 1;
        self.swap(place, last);
        let taken = self[last];
        if self.count == HERE + 1 {
            self.here.copy_from_slice(&self.more[..HERE]);
        }
        self.more.truncate(last);
        self.count = last;
        taken
    }
}

impl<T, const HERE: usize> std::ops::Deref for Few<T, HERE> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.here.get(..self.count).unwrap_or(&self.more)
    }
}

impl<T, const HERE: usize> std::ops::DerefMut for Few<T, HERE> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.here.get_mut(..self.count).unwrap_or(&mut self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_many_they_are_what_was_put_in_and_not_taken_out() {
        let (mut few, mut plain) = (Few::<u32, 3>::default(), Vec::new());
        for step in 0..200u32 {
            // More come than go until there are ten, then more go than come.
            if plain.is_empty() || (step / 20).is_multiple_of(2) && !step.is_multiple_of(3) {
                few.push(step);
                plain.push(step);
            } else {
                let place = step as usize * 7 % plain.len();
                assert_eq!(few.swap_remove(place), plain.swap_remove(place));
            }
            assert_eq!(*few, *plain);
        }
        few.clear();
        assert!(few.is_empty());
    }
}
