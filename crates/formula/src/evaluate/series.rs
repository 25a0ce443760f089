//! Enclosures of sums without a closed form, without iterating over their terms.
//!
//! The range is split into blocks. Over a block the body is a polynomial plus a remainder ([`super::jet`]), and power sums over a block are
//! known exactly; so a block costs the same for twenty indexes as for a billion. The widest block is split until the result is narrow. For
//! a smooth body the number of blocks grows with the logarithm of the number of indexes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use super::jet::ORDER;
use super::steps::{StepExtent, StepRange, integer_interval};
use super::{EvaluationError, Evaluator, geometric};
use crate::atom::{AtomKind, IndexedFold};
use crate::formula::atom_contains;
use crate::interval::Interval;
use crate::sum::{binomial, half_bernoulli};

/// Blocks with at most this many indexes are summed term by term.
const SHORT_BLOCK: i128 = 16;

/// Sums with at most this many indexes are always summed term by term.
const SHORT_SUM: i128 = 256;

/// The maximum number of blocks.
const MAX_BLOCKS: usize = 2_000;

/// The same where every block needs a nested sum or search, and inside of such a nested one.
const MAX_BLOCKS_OUTER: usize = 128;
const MAX_BLOCKS_NESTED: usize = 16;

/// Splitting stops at this relative width.
const TOLERANCE: f64 = 1e-13;

impl Evaluator<'_> {
    /// The sum of a body, from the values of its bounds and of their difference.
    pub(super) fn sum(&mut self, fold: &IndexedFold, from: Interval, to: Interval, span: Interval) -> Result<Interval, EvaluationError> {
        let Some(extent) = StepExtent::from_bounds(from, to, span) else { return self.unbounded_sum(fold, from, to) };
        if let Some(sum) = geometric::geometric_sum(self, fold, &extent).or_else(|| self.sum_with_known_values(fold, from, span)) {
            return Ok(sum);
        }
        let mut sum = match extent.certain {
            Some(steps) => self.sum_of_steps(fold, steps)?,
            None => Interval::ZERO,
        };
        for steps in extent.possible {
            sum = sum + self.partial_sum(fold, steps)?;
        }
        Ok(sum)
    }

    /// The sum over an unbounded range: only its sign is known.
    fn unbounded_sum(&mut self, fold: &IndexedFold, from: Interval, to: Interval) -> Result<Interval, EvaluationError> {
        if self.breaks_ties {
            return Err(EvaluationError::TooLarge);
        }
        let range = self.eval_over(&fold.index(), Interval::from_bounds(from.low(), to.high()), &fold.body)?;
        let low = if range.low() >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let high = if range.high() <= 0.0 { 0.0 } else { f64::INFINITY };
        Ok(Interval::from_bounds(low, high))
    }

    fn sum_of_steps(&mut self, fold: &IndexedFold, steps: StepRange) -> Result<Interval, EvaluationError> {
        if steps.count() <= SHORT_SUM {
            return self.sum_termwise(fold, steps);
        }
        let mut parts = BinaryHeap::from([BlockEstimate::from_sum(steps, self.sum_of_block(fold, steps)?)]);
        let mut done = Vec::new();
        let most_blocks = self.max_blocks(fold);
        let (mut width, mut size, mut examined) = (f64::INFINITY, 0.0f64, 0);
        while let Some(widest) = parts.pop() {
            if width <= TOLERANCE * size || parts.len() + done.len() >= most_blocks || widest.priority == 0.0 {
                parts.push(widest);
                break;
            }
            if widest.steps.count() <= SHORT_BLOCK {
                done.push(widest);
            } else {
                let (left, right) = widest.steps.bisect();
                for steps in [left, right] {
                    parts.push(BlockEstimate::from_sum(steps, self.sum_of_block(fold, steps)?));
                }
            }
            // Recomputed, since widths of very different magnitude leave rounding errors behind; not for every block, since there may be
            // many.
            let blocks = parts.len() + done.len();
            if blocks > examined + examined / 8 {
                examined = blocks;
                width = parts.iter().map(|part| part.priority).sum();
                size = parts.iter().chain(&done).map(|part| part.value.midpoint()).sum::<f64>().abs();
            }
        }
        Ok(parts.iter().chain(&done).fold(Interval::ZERO, |sum, part| sum + part.value))
    }

    pub(super) fn max_blocks(&self, fold: &IndexedFold) -> usize {
        let mut nested = false;
        fold.body.visit_atoms(&mut Default::default(), &mut |atom| {
            nested |= matches!(atom.kind(), AtomKind::Fold(_)) && atom_contains(atom, &fold.index());
        });
        match (self.bound_symbols.is_empty(), nested) {
            (true, false) => MAX_BLOCKS,
            (true, true) => MAX_BLOCKS_OUTER,
            (false, _) => MAX_BLOCKS_NESTED,
        }
    }

    fn sum_termwise(&mut self, fold: &IndexedFold, steps: StepRange) -> Result<Interval, EvaluationError> {
        let mut sum = Interval::ZERO;
        for step in steps.first..=steps.last {
            sum = sum + self.eval_with(&fold.index(), steps.index_at(step), &fold.body)?;
        }
        Ok(sum)
    }

    /// The sum over one block, without splitting it.
    fn sum_of_block(&mut self, fold: &IndexedFold, steps: StepRange) -> Result<Interval, EvaluationError> {
        if steps.count() <= SHORT_BLOCK {
            return self.sum_termwise(fold, steps);
        }
        let count = integer_interval(steps.count());
        let range = self.eval_over(&fold.index(), steps.hull(), &fold.body).unwrap_or(Interval::ALL);
        let coarse = count * range;
        let Some(jet) = self.jet(&fold.body, &steps.block(&fold.index())) else { return Ok(coarse) };
        let mut fine = Interval::ZERO;
        for (power, factors) in (0..=ORDER).step_by(2).zip(POWER_SUMS.iter()) {
            let coefficients = if power == ORDER { &jet.block } else { &jet.centre };
            if let Some(coefficient) = coefficients.get(power) {
                fine = fine + *coefficient * power_sum(power, factors, count);
            }
        }
        if !self.at_midpoints && fold.body.has_interval() {
            fine = fine + odd_power_slack(&jet.centre, count);
        }
        Ok(fine.intersection(coarse).unwrap_or(fine))
    }

    /// The sum of any subset of the terms.
    fn partial_sum(&mut self, fold: &IndexedFold, steps: StepRange) -> Result<Interval, EvaluationError> {
        let range = self.eval_over(&fold.index(), steps.hull(), &fold.body)?;
        if range.low() < 0.0 && range.high() > 0.0 {
            let reach = integer_interval(steps.count()) * range;
            return Ok(reach.hull(Interval::ZERO));
        }
        Ok(self.sum_of_steps(fold, steps)?.hull(Interval::ZERO))
    }
}

/// A block and its enclosure, ordered by the expected gain of splitting it.
pub(super) struct BlockEstimate {
    pub(super) priority: f64,
    pub(super) steps: StepRange,
    pub(super) value: Interval,
}

impl BlockEstimate {
    /// A block with an enclosure of its sum; the wider, the higher the priority.
    fn from_sum(steps: StepRange, value: Interval) -> BlockEstimate {
        BlockEstimate { priority: value.width(), steps, value }
    }
}

impl PartialEq for BlockEstimate {
    fn eq(&self, other: &BlockEstimate) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for BlockEstimate {}
impl PartialOrd for BlockEstimate {
    fn partial_cmp(&self, other: &BlockEstimate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for BlockEstimate {
    fn cmp(&self, other: &BlockEstimate) -> Ordering {
        self.priority.total_cmp(&other.priority).then_with(|| other.steps.first.cmp(&self.steps.first))
    }
}

/// For every even power up to [`ORDER`], the factors of the even powers of `2/count` in the sum of that power over a block.
static POWER_SUMS: LazyLock<Vec<Vec<Interval>>> = LazyLock::new(|| {
    let factor = |power: usize, j: usize| (&binomial(power + 1, j) * &half_bernoulli(j)).to_interval();
    (0..=ORDER).step_by(2).map(|power| (0..=power).step_by(2).map(|j| factor(power, j)).collect()).collect()
});

/// The sum of `u^power` over `count` numbers `u` spaced evenly from -1 to 1, by Bernoulli polynomials around the middle.
fn power_sum(power: usize, factors: &[Interval], count: Interval) -> Interval {
    let (one, two) = (Interval::ONE, Interval::point(2.0));
    let ratio = two / count;
    let mut sum = Interval::ZERO;
    for (half, factor) in factors.iter().enumerate() {
        sum = sum + *factor * ratio.powi(2 * half as i64);
    }
    let stretch = (count / (count - one)).powi(power as i64);
    count / Interval::point(power as f64 + 1.0) * stretch * sum
}

/// What odd powers contribute when interval coefficients differ from step to step, so that the two sides of the centre do not cancel.
fn odd_power_slack(coefficients: &[Interval], count: Interval) -> Interval {
    let odd = coefficients.iter().skip(1).step_by(2);
    let reach = odd.fold(Interval::ZERO, |sum, coefficient| sum + Interval::point(coefficient.width()) * count).high();
    Interval::from_bounds(-reach, reach)
}

/// Whether there are too few steps to split; shared with the search for extrema.
pub(super) fn is_short(steps: StepRange) -> bool {
    steps.count() <= SHORT_BLOCK
}
