//! Sums of `i^k * r^i` for a ratio that is known only when the formula is evaluated.
//!
//! The closed form divides by `r - 1` and loses all digits near one. Doubling the number of terms does not: all terms are positive, and
//! the sum over twice as many indexes follows from the sum over the first half.

use super::Evaluation;
use super::series::{Extent, Steps, whole};
use crate::atom::Fold;
use crate::build::two_to;
use crate::interval::Interval;
use crate::sum::{Shape, binomial};

/// The sum, if the body has that form and no index is negative.
pub(super) fn sum(evaluation: &mut Evaluation, fold: &Fold, extent: &Extent) -> Option<Interval> {
    let (monomial, _) = fold.body.as_term().filter(|(_, coefficient)| coefficient.is_one())?;
    let shape = Shape::of(monomial, &fold.index()).filter(|shape| !shape.rate.is_zero())?;
    let ratio = evaluation.formula(&two_to(&shape.rate)).ok()?;
    let start = |steps: &Steps| steps.index(steps.first).low() >= 0.0;
    if !extent.sure.iter().chain(&extent.unsure).all(start) {
        return None;
    }
    let mut total = |steps: &Steps| total(&shape, ratio, *steps);
    let mut sum = extent.sure.as_ref().map_or(Interval::ZERO, &mut total);
    for steps in &extent.unsure {
        sum = sum + total(steps).hull(Interval::ZERO);
    }
    Some(sum)
}

/// All terms rise with the ratio, so its ends give the ends.
fn total(shape: &Shape, ratio: Interval, steps: Steps) -> Interval {
    let low = total_at(shape.degree, Interval::point(ratio.low()), steps);
    if ratio.is_point() {
        return low;
    }
    let high = total_at(shape.degree, Interval::point(ratio.high()), steps);
    Interval::between(low.low(), high.high())
}

fn total_at(degree: usize, ratio: Interval, steps: Steps) -> Interval {
    let sums = from_zero(degree, ratio, steps.count());
    let start = steps.index(steps.first);
    let mut sum = Interval::ZERO;
    for (power, part) in sums.iter().enumerate() {
        sum = sum + choose(degree, power) * start.powi((degree - power) as i64) * *part;
    }
    super::power(ratio, start) * sum
}

fn choose(n: usize, k: usize) -> Interval {
    binomial(n, k).enclosing()
}

/// The sums of `i^j * r^i` for `i` from zero on, `count` terms, for every `j` up to the degree.
fn from_zero(degree: usize, ratio: Interval, count: i128) -> Vec<Interval> {
    let mut sums = vec![Interval::ZERO; degree + 1];
    let (mut length, mut power) = (0i128, Interval::ONE);
    for bit in (0..128 - count.leading_zeros()).rev() {
        sums = (0..=degree).map(|j| sums[j] + power * shifted(&sums, j, whole(length))).collect();
        (length, power) = (2 * length, power * power);
        if count >> bit & 1 == 1 {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + whole(length).powi(j as i64) * power;
            }
            (length, power) = (length + 1, power * ratio);
        }
    }
    sums
}

/// The sum of `(i + length)^j * r^i` from the sums of lower powers.
fn shifted(sums: &[Interval], j: usize, length: Interval) -> Interval {
    let part = |l: usize| choose(j, l) * length.powi((j - l) as i64) * sums[l];
    (0..=j).map(part).fold(Interval::ZERO, |sum, part| sum + part)
}
