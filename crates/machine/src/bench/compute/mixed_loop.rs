//! Costs of operations among others.
//!
//! A core has several kinds of execution units and issues a few operations per cycle. Many consecutive multiplications wait for the multipliers;
//! one between additions, loads and stores takes no more than its issue slot. Program times are sums over operations, so an operation costs at
//! least an issue slot: the time of a typical loop divided by its operations.

use std::hint::black_box;

use super::number::BenchNumber;
use super::step::never;
use super::{REPETITIONS, enough_rounds, median_time, time};

/// Operations of a round: two loads, a multiplication, an addition, a store, a comparison with its branch, and the addition and comparison of the
/// loop counter.
const LOOP_OPERATIONS: f64 = 8.0;

/// Elements of a row; at 8 bytes each, two rows fit into any L1 cache.
const ELEMENTS: usize = 1024;

/// A typical loop. The branch that is never taken prevents vectorisation.
#[inline(never)]
fn update_row<N: BenchNumber>(row: &[N], by: N, nothing: N, sums: &mut [N]) {
    for (sum, &element) in sums.iter_mut().zip(row) {
        *sum = if element.is_less(nothing) { never(element) } else { element.times(by).plus(*sum) };
    }
}

/// Seconds per round, sampled several times.
pub(super) fn time_rounds<N: BenchNumber>() -> Vec<f64> {
    let [first, _, same, nothing] = black_box(N::START);
    let row = vec![first; ELEMENTS];
    let mut sums = vec![nothing; ELEMENTS];
    let mut rows = |times: usize| time(|| (0..times).for_each(|_| update_row(black_box(&row), same, nothing, black_box(&mut sums))));
    let times = enough_rounds(&mut rows);
    (0..REPETITIONS).map(|_| rows(times) / (times * ELEMENTS) as f64).collect()
}

/// Cost of an operation among others, from its cost among its own kind and the time of a round.
pub(super) fn time_in_mix(own: Vec<f64>, rounds: &[f64]) -> Vec<f64> {
    if median_time(&own) > median_time(rounds) { own } else { rounds.iter().map(|round| round / LOOP_OPERATIONS).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_added_to_the_sums() {
        let mut sums = [1, 2];
        update_row(&[3, 4], 10, 0, &mut sums);
        assert_eq!(sums, [31, 42]);
    }

    #[test]
    fn a_cheap_operation_costs_an_issue_slot() {
        assert_eq!(time_in_mix(vec![3.0, 3.0, 4.0], &[8.0, 8.0, 16.0]), [1.0, 1.0, 2.0]);
        assert_eq!(time_in_mix(vec![9.0, 9.0, 9.0], &[8.0, 8.0, 16.0]), [9.0, 9.0, 9.0]);
    }
}
