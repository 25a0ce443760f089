//! Sums of `i^k * r^i` for a ratio that is known only when the formula is evaluated.
//!
//! The closed form divides by `r - 1` and cancels catastrophically near one. Doubling does not: all terms are positive, and the sum over
//! twice as many indexes follows from the sum over the first half.

use super::Evaluator;
use super::steps::{StepExtent, StepRange, integer_interval};
use crate::atom::IndexedFold;
use crate::build::exp2;
use crate::interval::Interval;
use crate::sum::{PolyExponential, binomial};

/// The sum, if the body has that form and no index is negative.
pub(super) fn geometric_sum(evaluation: &mut Evaluator, fold: &IndexedFold, extent: &StepExtent) -> Option<Interval> {
    let (monomial, _) = fold.body.as_term().filter(|(_, coefficient)| coefficient.is_one())?;
    let shape = PolyExponential::from_monomial(monomial, &fold.index()).filter(|shape| !shape.rate.is_zero())?;
    let ratio = evaluation.formula(&exp2(&shape.rate)).ok()?;
    let start = |steps: &StepRange| steps.index_at(steps.first).low() >= 0.0;
    if !extent.certain.iter().chain(&extent.possible).all(start) {
        return None;
    }
    let mut total = |steps: &StepRange| sum_of_steps(&shape, ratio, *steps);
    let mut sum = extent.certain.as_ref().map_or(Interval::ZERO, &mut total);
    for steps in &extent.possible {
        sum = sum + total(steps).hull(Interval::ZERO);
    }
    Some(sum)
}

/// All terms grow with the ratio, so its bounds give the bounds of the sum.
fn sum_of_steps(shape: &PolyExponential, ratio: Interval, steps: StepRange) -> Interval {
    let low = sum_at_ratio(shape.degree, Interval::point(ratio.low()), steps);
    if ratio.is_point() {
        return low;
    }
    let high = sum_at_ratio(shape.degree, Interval::point(ratio.high()), steps);
    Interval::from_bounds(low.low(), high.high())
}

fn sum_at_ratio(degree: usize, ratio: Interval, steps: StepRange) -> Interval {
    let sums = sums_from_zero(degree, ratio, steps.count());
    let start = steps.index_at(steps.first);
    let mut sum = Interval::ZERO;
    for (power, part) in sums.iter().enumerate() {
        sum = sum + choose(degree, power) * start.powi((degree - power) as i64) * *part;
    }
    super::power(ratio, start) * sum
}

fn choose(n: usize, k: usize) -> Interval {
    binomial(n, k).to_interval()
}

/// The sums of `i^j * r^i` over `i = 0..count`, for every `j` up to the degree.
fn sums_from_zero(degree: usize, ratio: Interval, count: i128) -> Vec<Interval> {
    let mut sums = vec![Interval::ZERO; degree + 1];
    let (mut length, mut power) = (0i128, Interval::ONE);
    for bit in (0..128 - count.leading_zeros()).rev() {
        sums = (0..=degree).map(|j| sums[j] + power * shifted_sum(&sums, j, integer_interval(length))).collect();
        (length, power) = (2 * length, power * power);
        if count >> bit & 1 == 1 {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + integer_interval(length).powi(j as i64) * power;
            }
            (length, power) = (length + 1, power * ratio);
        }
    }
    sums
}

/// The sum of `(i + length)^j * r^i` from the sums of lower powers.
fn shifted_sum(sums: &[Interval], j: usize, length: Interval) -> Interval {
    let part = |l: usize| choose(j, l) * length.powi((j - l) as i64) * sums[l];
    (0..=j).map(part).fold(Interval::ZERO, |sum, part| sum + part)
}
