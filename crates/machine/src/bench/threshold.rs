//! Where one protocol gives way to the next, found by what a message does rather than by how long it takes.

use serde::{Deserialize, Serialize};

/// The largest messages that do something; none where even the largest one that was tried does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Thresholds {
    /// `MPI_Send` gets rid of it though nobody receives it yet.
    pub eager: Option<u64>,
    /// The same while the receiver does not call MPI.
    pub unattended: Option<u64>,
    /// `MPI_Isend` has copied it when it returns.
    pub detached: Option<u64>,
}

impl Thresholds {
    /// Those that there are.
    pub fn all(&self) -> Vec<u64> {
        [self.eager, self.unattended, self.detached].into_iter().flatten().collect()
    }
}

/// The largest size up to `most` that does it, by halving; none if the largest does. A size of 0 does it always.
pub fn largest<E>(most: u64, mut does: impl FnMut(u64) -> Result<bool, E>) -> Result<Option<u64>, E> {
    if does(most)? {
        return Ok(None);
    }
    let (mut yes, mut no) = (0, most);
    loop {
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if does(middle)? {
                yes = middle;
            } else {
                no = middle;
            }
        }
        // One wrong no ends the search just below it, so that is where it is asked again.
        if no == most || !does(no)? {
            return Ok(Some(yes));
        }
        (yes, no) = (no, most);
    }
}

/// Whether it is so at least twice out of three times: once may be the scheduler's doing.
pub fn two_of_three<E>(mut is_so: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let (first, second) = (is_so()?, is_so()?);
    if first == second { Ok(first) } else { is_so() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn the_threshold_is_found_to_the_byte() {
        for threshold in [0, 1, 4040, 65_535, 999_999] {
            let found = largest(1_000_000, |bytes| Ok::<_, Infallible>(bytes <= threshold));
            assert_eq!(found, Ok(Some(threshold)));
        }
        assert_eq!(largest(1_000_000, |_| Ok::<_, Infallible>(true)), Ok(None));
    }

    #[test]
    fn a_wrong_no_is_asked_again() {
        let mut wrong = 1;
        let found = largest(1 << 20, |bytes| {
            let mistaken = bytes == 1 << 18 && wrong > 0;
            wrong -= i32::from(mistaken);
            Ok::<_, Infallible>(bytes <= 300_000 && !mistaken)
        });
        assert_eq!(found, Ok(Some(300_000)));
    }

    #[test]
    fn one_mistake_of_three_is_forgiven() {
        let mut asked = 0;
        let found = largest(1000, |bytes| {
            two_of_three(|| {
                asked += 1;
                Ok::<_, Infallible>((bytes <= 100) != (asked % 3 == 0))
            })
        });
        assert_eq!(found, Ok(Some(100)));
    }
}
