//! Thresholds between message protocols, found by behaviour rather than by time.

use serde::{Deserialize, Serialize};

/// Largest messages with each behaviour; none if even the largest tried message has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProtocolThresholds {
    /// `MPI_Send` completes before the message is received.
    pub eager: Option<u64>,
    /// The same while the receiver does not call MPI.
    pub unattended: Option<u64>,
    /// `MPI_Isend` has copied the message when it returns.
    pub detached: Option<u64>,
}

impl ProtocolThresholds {
    /// All thresholds that were found.
    pub fn known_values(&self) -> Vec<u64> {
        [self.eager, self.unattended, self.detached].into_iter().flatten().collect()
    }
}

/// The largest size up to `most` with a behaviour, by bisection; none if `most` has it. Size 0 always has it.
pub(super) fn largest_size<E>(most: u64, mut has_behaviour: impl FnMut(u64) -> Result<bool, E>) -> Result<Option<u64>, E> {
    if has_behaviour(most)? {
        return Ok(None);
    }
    let (mut yes, mut no) = (0, most);
    loop {
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if has_behaviour(middle)? {
                yes = middle;
            } else {
                no = middle;
            }
        }
        // A false negative ends the bisection just below it, so that size is tested again.
        if no == most || !has_behaviour(no)? {
            return Ok(Some(yes));
        }
        (yes, no) = (no, most);
    }
}

/// Whether it holds at least twice out of three times: a single result may be due to the scheduler.
pub(super) fn majority_of_three<E>(mut test: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let (first, second) = (test()?, test()?);
    if first == second { Ok(first) } else { test() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn the_threshold_is_found_to_the_byte() {
        for threshold in [0, 1, 4040, 65_535, 999_999] {
            let found = largest_size(1_000_000, |bytes| Ok::<_, Infallible>(bytes <= threshold));
            assert_eq!(found, Ok(Some(threshold)));
        }
        assert_eq!(largest_size(1_000_000, |_| Ok::<_, Infallible>(true)), Ok(None));
    }

    #[test]
    fn a_false_negative_is_tested_again() {
        let mut wrong = 1;
        let found = largest_size(1 << 20, |bytes| {
            let mistaken = bytes == 1 << 18 && wrong > 0;
            wrong -= i32::from(mistaken);
            Ok::<_, Infallible>(bytes <= 300_000 && !mistaken)
        });
        assert_eq!(found, Ok(Some(300_000)));
    }

    #[test]
    fn one_wrong_result_of_three_is_ignored() {
        let mut asked = 0;
        let found = largest_size(1000, |bytes| {
            majority_of_three(|| {
                asked += 1;
                Ok::<_, Infallible>((bytes <= 100) != (asked % 3 == 0))
            })
        });
        assert_eq!(found, Ok(Some(100)));
    }
}
