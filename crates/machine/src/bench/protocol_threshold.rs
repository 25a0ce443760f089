//! Thresholds between message protocols, found by behaviour rather than by time.

use serde::{Deserialize, Serialize};

/// The largest message with some behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeLimit {
    /// The largest one.
    UpTo(u64),
    /// Even the largest tried message has it.
    AboveAll,
    /// There was no time to find it.
    #[default]
    NotFound,
}

impl SizeLimit {
    /// The largest size, if there is one.
    pub fn bytes(self) -> Option<u64> {
        match self {
            SizeLimit::UpTo(bytes) => Some(bytes),
            SizeLimit::AboveAll | SizeLimit::NotFound => None,
        }
    }
}

/// Largest messages with each behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProtocolThresholds {
    /// `MPI_Send` completes before the message is received.
    pub eager: SizeLimit,
    /// The same while the receiver does not call MPI.
    pub unattended: SizeLimit,
    /// `MPI_Isend` has copied the message when it returns.
    pub detached: SizeLimit,
}

impl ProtocolThresholds {
    /// All thresholds that were found.
    pub fn known_values(&self) -> Vec<u64> {
        [self.eager, self.unattended, self.detached].into_iter().filter_map(SizeLimit::bytes).collect()
    }
}

/// The largest size up to `most` with a behaviour; a test without a result ends the search. Size 0 always has it.
///
/// A test takes as long as its message, so the search begins with small ones: it multiplies the size until the behaviour ends, and bisects
/// there.
pub(super) fn largest_size<E>(most: u64, mut has_behaviour: impl FnMut(u64) -> Result<Option<bool>, E>) -> Result<SizeLimit, E> {
    const FIRST: u64 = 64;
    const FACTOR: u64 = 4;
    let mut yes = 0;
    while yes < most {
        let mut no = (FACTOR * yes).max(FIRST).min(most);
        match has_behaviour(no)? {
            None => return Ok(SizeLimit::NotFound),
            Some(true) => {
                yes = no;
                continue;
            }
            Some(false) => {}
        }
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            match has_behaviour(middle)? {
                None => return Ok(SizeLimit::NotFound),
                Some(true) => yes = middle,
                Some(false) => no = middle,
            }
        }
        // A false negative ends the search just below it, so that size is tested again.
        if has_behaviour(no)? != Some(true) {
            return Ok(SizeLimit::UpTo(yes));
        }
        yes = no;
    }
    Ok(SizeLimit::AboveAll)
}

/// Whether it holds at least twice out of three times: a single result may be due to the scheduler.
pub(super) fn majority_of_three<E>(mut test: impl FnMut() -> Result<Option<bool>, E>) -> Result<Option<bool>, E> {
    let (first, second) = (test()?, test()?);
    if first == second || first.is_none() { Ok(first) } else { test() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn the_threshold_is_found_to_the_byte() {
        for threshold in [0, 1, 63, 64, 4040, 65_535, 999_999] {
            let found = largest_size(1_000_000, |bytes| Ok::<_, Infallible>(Some(bytes <= threshold)));
            assert_eq!(found, Ok(SizeLimit::UpTo(threshold)));
        }
        assert_eq!(largest_size(1_000_000, |_| Ok::<_, Infallible>(Some(true))), Ok(SizeLimit::AboveAll));
    }

    #[test]
    fn large_messages_are_not_tried_unless_needed() {
        let mut largest = 0;
        let found = largest_size(64 << 20, |bytes| {
            largest = largest.max(bytes);
            Ok::<_, Infallible>(Some(bytes <= 4040))
        });
        assert_eq!((found, largest), (Ok(SizeLimit::UpTo(4040)), 4096));
    }

    #[test]
    fn a_false_negative_is_tested_again() {
        for mistaken in [1 << 18, 16_384, 200_000] {
            let mut wrong = 1;
            let found = largest_size(1 << 20, |bytes| {
                let is_wrong = bytes == mistaken && wrong > 0;
                wrong -= i32::from(is_wrong);
                Ok::<_, Infallible>(Some(bytes <= 300_000 && !is_wrong))
            });
            assert_eq!(found, Ok(SizeLimit::UpTo(300_000)));
        }
    }

    #[test]
    fn a_search_without_time_finds_nothing() {
        let mut left = 5;
        let found = largest_size(1 << 20, |bytes| {
            left -= 1;
            Ok::<_, Infallible>((left > 0).then_some(bytes <= 300_000))
        });
        assert_eq!(found, Ok(SizeLimit::NotFound));
    }

    #[test]
    fn one_wrong_result_of_three_is_ignored() {
        let mut asked = 0;
        let found = largest_size(1000, |bytes| {
            majority_of_three(|| {
                asked += 1;
                Ok::<_, Infallible>(Some((bytes <= 300) != (asked % 3 == 1)))
            })
        });
        assert_eq!(found, Ok(SizeLimit::UpTo(300)));
    }
}
