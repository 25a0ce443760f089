//! Sums that have no closed form, enclosed without going through their terms.
//!
//! The range is divided into blocks. Over a block the body is a polynomial and a remainder ([`super::jet`]), and sums of powers over a block
//! are known exactly; so a block costs the same whether it has twenty indexes or a billion. The widest block is divided until the whole is
//! narrow. For a smooth body the number of blocks grows with the logarithm of the number of indexes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use super::jet::{Block, ORDER};
use super::{Evaluation, Undefined, geometric};
use crate::atom::{Fold, Kind};
use crate::formula::atom_contains;
use crate::interval::Interval;
use crate::sum::{binomial, half_bernoulli};

/// Blocks with at most this many indexes are added up one by one.
const SHORT: i128 = 16;

/// Sums with at most this many indexes are never enclosed by blocks.
const SHORT_SUM: i128 = 256;

/// How many blocks there may be.
const MOST_BLOCKS: usize = 2_000;

/// How many there may be where every block costs a sum or a search of its own, and in that.
const MOST_BLOCKS_AROUND: usize = 128;
const MOST_BLOCKS_INSIDE: usize = 16;

/// When the sum of the blocks is this narrow, relatively, dividing them ends.
const NARROW: f64 = 1e-13;

/// Ranges with more steps than this are not gone through.
const MOST_STEPS: f64 = 1e30;

/// Steps of a range from the first to the last; the index at a step is the start plus the step.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) start: Interval,
    pub(super) first: i128,
    pub(super) last: i128,
}

impl Steps {
    pub(super) fn count(self) -> i128 {
        self.last - self.first + 1
    }

    pub(super) fn index(self, step: i128) -> Interval {
        self.start + whole(step)
    }

    /// All indexes, and the numbers between them.
    pub(super) fn all(self) -> Interval {
        self.index(self.first).hull(self.index(self.last))
    }

    /// Two halves: by magnitude where the indexes reach from small to large ones, in the middle otherwise.
    pub(super) fn halves(self) -> (Steps, Steps) {
        let (low, high) = (self.index(self.first).low() + 1.0, self.index(self.last).high() + 1.0);
        let middle = self.first + (self.last - self.first) / 2;
        let cut = if low >= 1.0 && high > 4.0 * low { (low * high).sqrt() - 1.0 - self.start.low() } else { f64::NAN };
        let cut = if cut.is_finite() { (cut as i128).clamp(self.first, self.last - 1) } else { middle };
        (Steps { last: cut, ..self }, Steps { first: cut + 1, ..self })
    }

    pub(super) fn block<'a>(self, index: &'a crate::atom::Symbol) -> Block<'a> {
        let (first, last, two) = (self.index(self.first), self.index(self.last), Interval::point(2.0));
        Block { index, centre: (first + last) / two, reach: whole(self.last - self.first) / two, all: self.all() }
    }
}

/// A whole number as narrow as floats allow.
pub(super) fn whole(value: i128) -> Interval {
    let near = value as f64;
    match (near as i128).cmp(&value) {
        Ordering::Equal => Interval::point(near),
        Ordering::Less => Interval::between(near, near.next_up()),
        Ordering::Greater => Interval::between(near.next_down(), near),
    }
}

/// Which steps are there for certain, and which may be there or not.
pub(super) struct Extent {
    pub(super) sure: Option<Steps>,
    pub(super) unsure: Vec<Steps>,
}

impl Extent {
    /// The steps between two bounds of which one or both may be unsure; nothing when there is no end to them.
    pub(super) fn of(from: Interval, to: Interval, span: Interval) -> Option<Extent> {
        let steps =
            |start: Interval, first: f64, last: f64| (first <= last).then_some(Steps { start, first: first as i128, last: last as i128 });
        if from.is_point() {
            if span.high().abs() > MOST_STEPS {
                return None;
            }
            let (sure, most) = (span.low().floor().max(-1.0), span.high().floor());
            let unsure = steps(from, sure + 1.0, most).into_iter().collect();
            return Some(Extent { sure: steps(from, 0.0, sure), unsure });
        }
        if from.magnitude().max(to.magnitude()) > MOST_STEPS {
            return None;
        }
        // Bounds are whole numbers, so the indexes are whole numbers, whichever they are.
        let zero = Interval::ZERO;
        let (first, last) = (from.high().ceil(), to.low().floor());
        if first > last {
            return Some(Extent { sure: None, unsure: steps(zero, from.low().ceil(), to.high().floor()).into_iter().collect() });
        }
        let unsure = [steps(zero, from.low().ceil(), first - 1.0), steps(zero, last + 1.0, to.high().floor())];
        Some(Extent { sure: steps(zero, first, last), unsure: unsure.into_iter().flatten().collect() })
    }
}

impl Evaluation<'_> {
    /// The sum of a body, from the values of its bounds and of their difference.
    pub(super) fn sum(&mut self, fold: &Fold, from: Interval, to: Interval, span: Interval) -> Result<Interval, Undefined> {
        let Some(extent) = Extent::of(from, to, span) else { return self.endless(fold, from, to) };
        if let Some(sum) = geometric::sum(self, fold, &extent).or_else(|| self.specialised(fold, from, span)) {
            return Ok(sum);
        }
        let mut sum = match extent.sure {
            Some(steps) => self.sum_of_steps(fold, steps)?,
            None => Interval::ZERO,
        };
        for steps in extent.unsure {
            sum = sum + self.sum_of_some(fold, steps)?;
        }
        Ok(sum)
    }

    /// The sum over a range without end: only its sign can be told.
    fn endless(&mut self, fold: &Fold, from: Interval, to: Interval) -> Result<Interval, Undefined> {
        if self.decides {
            return Err(Undefined::TooLarge);
        }
        let range = self.over(&fold.index(), Interval::between(from.low(), to.high()), &fold.body)?;
        let low = if range.low() >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let high = if range.high() <= 0.0 { 0.0 } else { f64::INFINITY };
        Ok(Interval::between(low, high))
    }

    fn sum_of_steps(&mut self, fold: &Fold, steps: Steps) -> Result<Interval, Undefined> {
        if steps.count() <= SHORT_SUM {
            return self.sum_one_by_one(fold, steps);
        }
        let mut parts = BinaryHeap::from([Part::of_sum(steps, self.sum_of_block(fold, steps)?)]);
        let mut done = Vec::new();
        let most_blocks = self.most_blocks(fold);
        let (mut width, mut size, mut looked_at) = (f64::INFINITY, 0.0f64, 0);
        while let Some(widest) = parts.pop() {
            if width <= NARROW * size || parts.len() + done.len() >= most_blocks || widest.promise == 0.0 {
                parts.push(widest);
                break;
            }
            if widest.steps.count() <= SHORT {
                done.push(widest);
            } else {
                let (left, right) = widest.steps.halves();
                for steps in [left, right] {
                    parts.push(Part::of_sum(steps, self.sum_of_block(fold, steps)?));
                }
            }
            // Anew, since widths of very different size would leave rounding errors behind; but not for every block, since there may be many.
            let blocks = parts.len() + done.len();
            if blocks > looked_at + looked_at / 8 {
                looked_at = blocks;
                width = parts.iter().map(|part| part.promise).sum();
                size = parts.iter().chain(&done).map(|part| part.value.middle()).sum::<f64>().abs();
            }
        }
        Ok(parts.iter().chain(&done).fold(Interval::ZERO, |sum, part| sum + part.value))
    }

    /// How many blocks a range may be divided into.
    pub(super) fn most_blocks(&self, fold: &Fold) -> usize {
        let mut nested = false;
        fold.body.visit(&mut Default::default(), &mut |atom| {
            nested |= matches!(atom.kind(), Kind::Fold(_)) && atom_contains(atom, &fold.index());
        });
        match (self.bound.is_empty(), nested) {
            (true, false) => MOST_BLOCKS,
            (true, true) => MOST_BLOCKS_AROUND,
            (false, _) => MOST_BLOCKS_INSIDE,
        }
    }

    fn sum_one_by_one(&mut self, fold: &Fold, steps: Steps) -> Result<Interval, Undefined> {
        let mut sum = Interval::ZERO;
        for step in steps.first..=steps.last {
            sum = sum + self.at(&fold.index(), steps.index(step), &fold.body)?;
        }
        Ok(sum)
    }

    /// The sum over one block, as narrow as it is at once.
    fn sum_of_block(&mut self, fold: &Fold, steps: Steps) -> Result<Interval, Undefined> {
        if steps.count() <= SHORT {
            return self.sum_one_by_one(fold, steps);
        }
        let count = whole(steps.count());
        let range = self.over(&fold.index(), steps.all(), &fold.body).unwrap_or(Interval::ALL);
        let coarse = count * range;
        let Some(jet) = self.jet(&fold.body, &steps.block(&fold.index())) else { return Ok(coarse) };
        let mut fine = Interval::ZERO;
        for (power, factors) in (0..=ORDER).step_by(2).zip(POWER_SUMS.iter()) {
            let coefficients = if power == ORDER { &jet.block } else { &jet.centre };
            if let Some(coefficient) = coefficients.get(power) {
                fine = fine + *coefficient * power_sum(power, factors, count);
            }
        }
        if !self.middles && fold.body.is_loose() {
            fine = fine + unbalanced(&jet.centre, count);
        }
        Ok(fine.intersection(coarse).unwrap_or(fine))
    }

    /// The sum of some of the terms, or none, or all.
    fn sum_of_some(&mut self, fold: &Fold, steps: Steps) -> Result<Interval, Undefined> {
        let range = self.over(&fold.index(), steps.all(), &fold.body)?;
        if range.low() < 0.0 && range.high() > 0.0 {
            let reach = whole(steps.count()) * range;
            return Ok(reach.hull(Interval::ZERO));
        }
        Ok(self.sum_of_steps(fold, steps)?.hull(Interval::ZERO))
    }
}

/// A block and what is known of it, ordered by how much dividing it promises.
pub(super) struct Part {
    pub(super) promise: f64,
    pub(super) steps: Steps,
    pub(super) value: Interval,
}

impl Part {
    /// A block whose sum is known to lie in the value: the wider that is, the more.
    fn of_sum(steps: Steps, value: Interval) -> Part {
        Part { promise: value.width(), steps, value }
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Part {}
impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        self.promise.total_cmp(&other.promise).then_with(|| other.steps.first.cmp(&self.steps.first))
    }
}

/// For every even power up to [`ORDER`], what multiplies the even powers of `2/count` in the sum of that power over a block.
static POWER_SUMS: LazyLock<Vec<Vec<Interval>>> = LazyLock::new(|| {
    let factor = |power: usize, j: usize| (&binomial(power + 1, j) * &half_bernoulli(j)).enclosing();
    (0..=ORDER).step_by(2).map(|power| (0..=power).step_by(2).map(|j| factor(power, j)).collect()).collect()
});

/// The sum of `u^power` over `count` numbers `u` spread evenly from -1 to 1, by Bernoulli's polynomials around their middle.
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

/// What odd powers add when unknown numbers differ from step to step, so that both sides of the centre do not cancel.
fn unbalanced(coefficients: &[Interval], count: Interval) -> Interval {
    let odd = coefficients.iter().skip(1).step_by(2);
    let reach = odd.fold(Interval::ZERO, |sum, coefficient| sum + Interval::point(coefficient.width()) * count).high();
    Interval::between(-reach, reach)
}

/// Shared with the search for extremes: whether a number of steps is too small to divide.
pub(super) fn is_short(steps: Steps) -> bool {
    steps.count() <= SHORT
}
