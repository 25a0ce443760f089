//! What operations take among others.
//!
//! A core has units of several kinds, and begins a few operations in each cycle, whatever they are. Many multiplications that follow each other
//! wait for the units that multiply; one between additions, loads and stores does not, and takes no more than its turn to begin. Times of programs
//! are sums over operations, so the least that one takes is that turn: as long as its unit has done with it before the others have begun.

use std::hint::black_box;

use super::number::Number;
use super::step::never;
use super::{TIMES, enough, middle, time};

/// The operations of a round: two loads, a multiplication, an addition, a store and a comparison with its branch; and of the loop itself, the
/// addition and the comparison of its counter.
const OPERATIONS: f64 = 8.0;

/// The elements that a loop goes over; with 8 bytes each, two rows of them fit into any nearest cache.
const ELEMENTS: usize = 1024;

/// A loop as programs have it. The branch that is never taken keeps the compiler from doing several rounds at once.
#[inline(never)]
fn update<N: Number>(row: &[N], by: N, nothing: N, sums: &mut [N]) {
    for (sum, &element) in sums.iter_mut().zip(row) {
        *sum = if element.is_less(nothing) { never(element) } else { element.times(by).plus(*sum) };
    }
}

/// The seconds of one round, measured several times.
pub fn rounds<N: Number>() -> Vec<f64> {
    let [first, _, same, nothing] = black_box(N::START);
    let row = vec![first; ELEMENTS];
    let mut sums = vec![nothing; ELEMENTS];
    let mut rows = |times: usize| time(|| (0..times).for_each(|_| update(black_box(&row), same, nothing, black_box(&mut sums))));
    let times = enough(&mut rows);
    (0..TIMES).map(|_| rows(times) / (times * ELEMENTS) as f64).collect()
}

/// What an operation takes among others, given what it takes among its own kind and what a round takes.
pub fn among(own: Vec<f64>, rounds: &[f64]) -> Vec<f64> {
    if middle(&own) > middle(rounds) { own } else { rounds.iter().map(|round| round / OPERATIONS).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_added_to_the_sums() {
        let mut sums = [1, 2];
        update(&[3, 4], 10, 0, &mut sums);
        assert_eq!(sums, [31, 42]);
    }

    #[test]
    fn what_is_done_before_the_others_have_begun_takes_its_turn() {
        assert_eq!(among(vec![3.0, 3.0, 4.0], &[8.0, 8.0, 16.0]), [1.0, 1.0, 2.0]);
        assert_eq!(among(vec![9.0, 9.0, 9.0], &[8.0, 8.0, 16.0]), [9.0, 9.0, 9.0]);
    }
}
